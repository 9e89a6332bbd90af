"""How one step is carried out: which parameters are updated by one call, and with what.

Planning compares names, dtypes and settings; a step only compares the plan with the parameters that
have gradients now, and builds a new one when they, their settings or their tensors have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.ops.table import Op
from argosy.optimizer.state import LOW_PRECISION, Clock, ParamState
from argosy.tensor.engine import Tensor

Options = dict[str, Any]


def rate_of(param: Tensor) -> Any:
    """The learning-rate multiplier that ParamAttr or the parameter group gave (a Tensor stands for
    the rate itself).
    """
    attributes = getattr(param, "optimize_attr", None)
    return 1.0 if attributes is None else attributes.get("learning_rate", 1.0)


class Bucket:
    """Parameters that one call of the update op takes: equal dtype, device, rate, decay, step
    count, settings.

    ``indices`` are their places among the parameters of the plan. ``work`` is what the op updates:
    the parameters themselves, or, for low-precision and strided ones, contiguous copies that are
    kept as masters or made anew each step.
    """

    def __init__(
        self, indices: list[int], raws: list[torch.Tensor], states: list[ParamState], rate: Any,
        regularizer: Any,
        setting: Any, options: Options, is_sparse: bool,
    ) -> None:  # fmt: skip
        self.indices = indices
        self.raws = raws
        self.states = states
        self.rate = rate
        self.regularizer = regularizer
        self.setting = setting
        self.options = options
        self.is_sparse = is_sparse
        self.clock = Clock(states[0].clock.count, raws[0].device)
        for state in states:
            state.clock = self.clock
        self.is_direct = all(is_direct(raw) for raw in raws)
        self.masters = [s.master.raw for s in states if s.master is not None]
        self.slots = {name: [s.tensors[name].raw for s in states] for name in states[0].tensors}

    def run(self, op: Op, *args: Any) -> None:
        """Call an update op; the bucket of a recorded program stores the call instead."""
        op.fn(*args)

    def dense(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients with every row."""
        return [g.to_dense() for g in grads]

    def shift_clock(self, steps: float) -> None:
        """Move the step count without a step."""
        if steps:
            self.clock.tensor.add_(steps)

    def lr(self, base: float) -> float:
        return float(self.rate) if isinstance(self.rate, Tensor) else base * self.rate

    def borrow(self) -> list[torch.Tensor]:
        """The tensors to update; ``give_back`` stores them when they are not the parameters
        themselves.
        """
        if self.is_direct:
            return self.raws
        return self.masters or [_plain(raw) for raw in self.raws]

    def give_back(self, work: list[torch.Tensor]) -> None:
        if not self.is_direct:
            torch._foreach_copy_(self.raws, work)


def is_direct(raw: torch.Tensor) -> bool:
    """Whether an update may work on the parameter's own memory."""
    return raw.dtype not in LOW_PRECISION and raw.is_contiguous()


def _plain(raw: torch.Tensor) -> torch.Tensor:
    dtype = torch.float32 if raw.dtype in LOW_PRECISION else raw.dtype
    return raw.detach().to(dtype, memory_format=torch.contiguous_format, copy=True)


class Plan:
    """The buckets of one parameter group, and what they were built from."""

    def __init__(
        self,
        params: list[Tensor],
        raws: list[torch.Tensor],
        sparse: Sequence[int],
        options: Options,
    ) -> None:
        self.raws = raws
        self.traits = [(rate_of(p), p.__dict__.get("regularizer")) for p in params]
        self.sparse = list(sparse)
        self.options = dict(options)
        self.need_clip = [getattr(p, "need_clip", True) for p in params]
        self.buckets: list[Bucket] = []

    def fits(
        self, params: list[Tensor], raws: list[torch.Tensor], sparse: list[int], options: Options
    ) -> bool:
        """Whether nothing that the plan rests on has changed."""
        if len(raws) != len(self.raws) or sparse != self.sparse or options != self.options:
            return False
        for param, raw, own, (rate, regularizer) in zip(
            params, raws, self.raws, self.traits, strict=True
        ):
            if raw is not own:
                return False
            fields = param.__dict__
            if fields.get("regularizer") is not regularizer:
                return False
            attributes = fields.get("optimize_attr")
            now = 1.0 if attributes is None else attributes.get("learning_rate", 1.0)
            if now is not rate and (
                isinstance(now, Tensor) or isinstance(rate, Tensor) or now != rate
            ):
                return False
        return True

    def fill(
        self,
        params: list[Tensor],
        states: list[ParamState],
        fallback: Any,
        setting_of: Callable[[Tensor, Options], Hashable],
    ) -> None:
        """Sort the parameters into buckets; ``setting_of`` gives what else must be equal within
        one.
        """
        groups: dict[Any, list[int]] = {}
        settings = [setting_of(p, self.options) for p in params]
        for i, raw in enumerate(self.raws):
            rate, own = self.traits[i]
            if not isinstance(rate, (int, float, Tensor)):
                raise UsageError(
                    f"Optimizer: the learning rate of parameter {params[i].name!r} must be a "
                    "number or a Tensor, "
                    f"but is {type(rate).__name__}"
                )
            regularizer = fallback if own is None else own
            key = (
                raw.dtype, raw.device, is_direct(raw),
                id(rate) if isinstance(rate, Tensor) else float(rate),
                id(regularizer), settings[i], i in self.sparse, states[i].clock.count,
            )  # fmt: skip
            groups.setdefault(key, []).append(i)
        for indices in groups.values():
            first = indices[0]
            own = self.traits[first][1]
            self.buckets.append(
                Bucket(
                    indices,
                    [self.raws[i] for i in indices],
                    [states[i] for i in indices],
                    self.traits[first][0],
                    fallback if own is None else own,
                    settings[first],
                    self.options,
                    first in self.sparse,
                )
            )
