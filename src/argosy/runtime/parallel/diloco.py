"""Streaming DiLoCo: ranks train on their own; now and then each part of the model takes a common
step, whose exchange goes on while they train further.

Use it around any optimizer, with gradients that are *not* averaged::

    outer = DiLoCo(params, group, k_steps=50, num_fragments=4, overlap_steps=5)
    ...
    outer.begin()               # before the first step, when all ranks have equal parameters
    optimizer.step()
    outer.step()                # after every step of the optimizer, on every rank

The parameters are cut into ``num_fragments`` parts of about the same size, also inside a parameter:
the part that is longest on its way decides whether ``overlap_steps`` are enough. They take turns:
each sets out every ``k_steps`` steps, and the mean over the ranks of how far it has moved from its
last common value c (``d = c - p``) arrives ``overlap_steps`` steps later. Then comes the outer
step, Nesterov momentum, and the rank goes on between its own value and the common one::

    v = outer_momentum·v + d        c = c - outer_lr·(d + outer_momentum·v)
    p = mixing·p + (1 - mixing)·c

d may travel in another form (``make_bucket``), which needs no error feedback: what rounding left
out of c is part of the next d. c and v are the same on every rank. ``S / k_steps`` bytes leave a
rank in a step on average, never more than a fragment at once. With one fragment, no overlap and no
mixing it is DiLoCo.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation.errors import CheckpointError, UsageError
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.compression import BucketMaker, plain_bucket

_HALVES = (torch.float16, torch.bfloat16)
_PIECE = 1 << 15  # elements: four such pieces are half a megabyte
_CHUNK = 1 << 15  # elements, at multiples of which parameters are cut


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When fragments set out and arrive; steps are counted from 1."""

    k_steps: int = 50
    num_fragments: int = 4
    overlap_steps: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.num_fragments <= self.k_steps:
            raise UsageError(
                f"diloco: num_fragments must be from 1 to k_steps, {self.k_steps}, but is "
                f"{self.num_fragments}"
            )
        if not 0 <= self.overlap_steps < self.k_steps:
            raise UsageError(
                f"diloco: overlap_steps must be from 0 to {self.k_steps - 1}, below k_steps, but "
                f"is {self.overlap_steps}"
            )

    def leaves_at(self, step: int) -> list[int]:
        """The fragments that set out after ``step``, none of them before the k-th."""
        if step < self.k_steps:
            return []
        phase = step % self.k_steps
        return [f for f in range(self.num_fragments) if self._offset(f) == phase]

    def _offset(self, fragment: int) -> int:
        return fragment * self.k_steps // self.num_fragments


@dataclass(frozen=True)
class Span:
    """Elements ``start`` to ``stop`` of the parameter number ``index``."""

    index: int
    start: int
    stop: int


def fragments(
    sizes: Sequence[int], count: int, whole: Collection[int] = (), chunk: int = _CHUNK
) -> list[list[Span]]:
    """Cut parameters of these sizes into ``count`` runs of about the same total, each the spans of
    neighbours; some are empty if there is too little. A parameter is cut at multiples of ``chunk``,
    unless it is among those that stay ``whole``.
    """
    cuts: list[list[Span]] = [[] for _ in range(count)]
    total, done = sum(sizes), 0
    for index, size in enumerate(sizes):
        width = size if index in whole else chunk
        for start in range(0, max(size, 1), max(width, 1)):
            stop = min(start + width, size)
            middle = done + (start + stop) / 2
            cut = cuts[min(int(middle * count / total) if total else 0, count - 1)]
            if cut and start and cut[-1].index == index:  # goes on
                start = cut.pop().start
            cut.append(Span(index, start, stop))
        done += size
    return cuts


@dataclass
class _Fragment:
    """Parameters and parts of them: their common values, the outer velocity, the memory of the
    exchange.
    """

    params: list[torch.Tensor]
    common: torch.Tensor | None = None  # from ``begin`` on
    velocity: torch.Tensor | None = None
    bucket: Bucket | None = None
    due: int = 0  # the step after which it arrives; 0 while it is at home

    def split(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """``flat`` as parts with the shapes of the parameters."""
        parts = torch.split(flat, [p.numel() for p in self.params])
        return [part.view(p.shape) for part, p in zip(parts, self.params, strict=True)]


class DiLoCo:
    """Takes the common steps of ``params``, the same list on every rank, of one dtype."""

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        group: Group,
        schedule: Schedule = Schedule(),
        *,
        outer_lr: float = 0.7,
        outer_momentum: float = 0.9,
        mixing: float = 0.5,
        make_bucket: BucketMaker = plain_bucket,
    ) -> None:
        if not 0.0 <= mixing < 1.0:
            raise UsageError(f"diloco: mixing must be at least 0 and below 1, but is {mixing}")
        self._group = group
        self._make_bucket = make_bucket
        self._schedule = schedule
        self._outer_lr, self._outer_momentum, self._mixing = outer_lr, outer_momentum, mixing
        params = [p.detach() for p in params]
        # what is not contiguous has no flat view
        whole = [i for i, p in enumerate(params) if not p.is_contiguous()]
        cuts = fragments([p.numel() for p in params], schedule.num_fragments, whole)
        self._fragments = [_Fragment([_part(params[s.index], s) for s in cut]) for cut in cuts]
        self.num_steps = 0

    @torch.no_grad()
    def begin(self) -> None:
        """Take the parameters as they are for the first common values, unless there are some."""
        for fragment in self._fragments:
            if fragment.common is None and fragment.params:
                fragment.common = _flat(fragment.params)
                fragment.velocity = torch.zeros_like(fragment.common)

    @torch.no_grad()
    def step(self) -> None:
        """Count a step of the optimizer; take in the fragments that are due and let others go."""
        self.begin()
        self.num_steps += 1
        for fragment in self._fragments:
            if fragment.due == self.num_steps:
                self._arrive(fragment)
            elif fragment.due and fragment.bucket is not None:
                fragment.bucket.progress()
        for number in self._schedule.leaves_at(self.num_steps):
            self._leave(self._fragments[number], self.num_steps + self._schedule.overlap_steps)

    def _leave(self, fragment: _Fragment, due: int) -> None:
        common = fragment.common
        if common is None:  # it has no parameters
            return
        if fragment.bucket is None:
            fragment.bucket = self._group.run(
                self._make_bucket,
                *(self._group.transport, common.numel(), common.dtype, common.device, 0),
            )
        moved = fragment.split(fragment.bucket.tensor)
        for out, last, param in zip(moved, fragment.split(common), fragment.params, strict=True):
            torch.sub(last, param, out=out)
        fragment.bucket.publish()
        fragment.due = due
        if due == self.num_steps:
            self._arrive(fragment)

    def _arrive(self, fragment: _Fragment) -> None:
        bucket, common, velocity = fragment.bucket, fragment.common, fragment.velocity
        assert bucket is not None
        assert common is not None
        assert velocity is not None
        self._group.run(bucket.finish)
        fragment.due = 0
        split = (fragment.split(flat) for flat in (bucket.tensor, velocity, common))
        for parts in zip(fragment.params, *split, strict=True):
            for pieces in _pieces(parts):
                self._take_outer_step(*pieces)

    def _take_outer_step(
        self,
        param: torch.Tensor,
        moved: torch.Tensor,
        velocity: torch.Tensor,
        common: torch.Tensor,
    ) -> None:
        torch.add(moved, velocity, alpha=self._outer_momentum, out=velocity)
        common.sub_(moved.add_(velocity, alpha=self._outer_momentum), alpha=self._outer_lr)
        param.lerp_(common.to(param.dtype), 1.0 - self._mixing)

    def state_dict(self) -> dict[str, Any]:
        """Common values and velocities, and when the fragments that are under way are due."""
        return {
            "num_steps": self.num_steps,
            "due": [fragment.due for fragment in self._fragments],
            "common": {i: f.common for i, f in enumerate(self._fragments) if f.common is not None},
            "velocity": {
                i: f.velocity for i, f in enumerate(self._fragments) if f.velocity is not None
            },
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what the same rank saved; all ranks call it alike. Fragments that were
        under way set out again, with the parameters of now. The state may have been cut in another
        way; then those under way wait for their turn.
        """
        sizes = [sum(p.numel() for p in fragment.params) for fragment in self._fragments]
        flats = {name: _joined(state[name], name, sum(sizes)) for name in ("common", "velocity")}
        for fragment in self._fragments:
            if fragment.due and fragment.bucket is not None:  # of the run before
                self._group.run(fragment.bucket.finish)
                fragment.due = 0
        self.num_steps = int(state["num_steps"])
        for name, flat in flats.items():
            parts = [None] * len(sizes) if flat is None else torch.split(flat, sizes)
            for fragment, part in zip(self._fragments, parts, strict=True):
                value = None if part is None or not fragment.params else part.clone()
                setattr(fragment, name, value)
        saved = {int(i): flat.numel() for i, flat in state["common"].items()}
        is_cut_alike = saved == {i: size for i, size in enumerate(sizes) if i in saved or size}
        for fragment, due in zip(self._fragments, state["due"], strict=False):
            if due and is_cut_alike:
                self._leave(fragment, int(due))


def _pieces(parts: Sequence[torch.Tensor]) -> Iterable[Sequence[torch.Tensor]]:
    """Tensors of one shape in pieces that stay in the cache while something is done to them."""
    if not all(part.is_contiguous() for part in parts):
        return [parts]
    return zip(*(torch.split(part.view(-1), _PIECE) for part in parts), strict=True)


def _joined(flats: Mapping[Any, torch.Tensor], name: str, count: int) -> torch.Tensor | None:
    """What was saved for all fragments in one; None if they had not begun."""
    if not flats:
        return None
    flat = torch.cat([flats[key] for key in sorted(flats, key=int)])
    if flat.numel() != count:
        raise CheckpointError(
            f"diloco: the saved state has {name!r} for {flat.numel()} elements, but the parameters "
            f"have {count}. Load it into the model that it was saved with."
        )
    return flat


def _part(param: torch.Tensor, span: Span) -> torch.Tensor:
    """The memory of a span."""
    if span.stop - span.start == param.numel():
        return param
    return param.view(-1)[span.start : span.stop]


def _flat(params: Sequence[torch.Tensor]) -> torch.Tensor:
    flat = torch.cat([p.reshape(-1) for p in params])
    return flat.float() if flat.dtype in _HALVES else flat
