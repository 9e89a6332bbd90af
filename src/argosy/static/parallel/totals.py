"""Gradients of all places and trainers as one: summed in place order, so that equal runs give equal
bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.static.parallel.exchange import Exchange
from argosy.static.parallel.rewrite import owners
from argosy.static.parallel.thread_pool import Barrier
from argosy.static.parallel.trainers import SharedBuffer, Trainers

_ALIGNMENT = 16  # elements between gradients in a buffer: each starts on a cache line


class _PlainBuffer:
    """Memory of this process alone."""

    def __init__(self, numel: int, dtype: torch.dtype, device: torch.device) -> None:
        self.tensor = torch.zeros(numel, dtype=dtype, device=device)

    def average(self) -> None:
        """There is nobody else."""

    def close(self) -> None:
        self.tensor = torch.empty(0)


class Totals:
    """The combined gradients that one backward operator hands out; every place calls ``combine``.

    The sums lie in memory that is kept between runs, on the device of place 0: fresh memory for
    large gradients costs as much as the addition. Each place adds up its share of them. With
    ``is_sum`` trainers add, else they average (the places always add).
    """

    def __init__(
        self,
        barrier: Barrier,
        num_places: int,
        trainers: Trainers | None,
        is_sum: bool,
        exchange: Exchange,
    ) -> None:
        self._barrier = barrier
        self._num_places = num_places
        self._trainers = trainers
        self._is_sum = is_sum
        self._exchange = exchange
        self._buffers: list[SharedBuffer] = []
        self._views: list[torch.Tensor | None] = []  # None: row-sparse, without memory of its own
        self._owners: list[int] = []
        self._results: list[torch.Tensor] = []

    @torch.no_grad()
    def combine(self, place: int, grads: list[torch.Tensor], owns: bool) -> list[torch.Tensor]:
        """The combined gradients; ``owns`` says that the caller writes to them, so that it gets
        memory of its own.
        """
        device = grads[0].device
        if place == 0 and not self._fits(grads):
            self._lay_out(grads)
        parts = self._barrier.exchange(place, [g.detach() for g in grads])
        for index, owner in enumerate(self._owners):
            if owner == place:
                self._results[index] = self._sum(index, [part[index] for part in parts])
        self._barrier.exchange(place)
        if self._trainers is not None:
            if place == 0:
                self._across_trainers(self._trainers)
            self._barrier.exchange(place)
        if owns:
            return [t.to(device, copy=True) for t in self._results]
        return [t if t.device == device else t.to(device) for t in self._results]

    def drop(self) -> None:
        """Give the memory back; the next run makes it anew. What trainers share is kept: all of
        them would have to give it back now.
        """
        self._results = []
        if self._trainers is None:
            self.close()

    def close(self) -> None:
        """Give all memory back; every trainer does."""
        self._results, self._views = [], []
        for buffer in self._buffers:
            buffer.close()
        self._buffers = []

    def _fits(self, grads: Sequence[torch.Tensor]) -> bool:
        if len(self._views) != len(grads):
            return False
        self._results = self._results or list(grads)
        return all(
            (view is None) == g.is_sparse for view, g in zip(self._views, grads, strict=True)
        )

    def _lay_out(self, grads: Sequence[torch.Tensor]) -> None:
        self._owners = owners([0 if g.is_sparse else g.numel() for g in grads], self._num_places)
        self._views = [None] * len(grads)
        self._results = list(grads)
        self._buffers = []
        if self._trainers is not None:  # buffers of other sizes would give wrong sums
            self._trainers.check_same([_described(g) for g in grads])
        dense = [i for i, g in enumerate(grads) if not g.is_sparse]
        for dtype in dict.fromkeys(grads[i].dtype for i in dense):
            members = [i for i in dense if grads[i].dtype is dtype]
            starts, numel = [], 0
            for i in members:
                starts.append(numel)
                numel += -(-grads[i].numel() // _ALIGNMENT) * _ALIGNMENT
            device, trainers = grads[0].device, self._trainers
            buffer = (
                _PlainBuffer(numel, dtype, device)
                if trainers is None
                else self._exchange.buffer(trainers, numel, dtype, device)
            )
            self._buffers.append(buffer)
            for i, start in zip(members, starts, strict=True):
                self._views[i] = buffer.tensor[start : start + grads[i].numel()].view(
                    grads[i].shape
                )

    def _sum(self, index: int, parts: list[torch.Tensor]) -> torch.Tensor:
        view = self._views[index]
        if view is None:
            return _joined_rows(parts)
        local = [p if p.device == view.device else p.to(view.device) for p in parts]
        if len(local) == 1:
            return view.copy_(local[0])
        torch.add(local[0], local[1], out=view)
        for part in local[2:]:
            view.add_(part)
        return view

    def _across_trainers(self, trainers: Trainers) -> None:
        for buffer in self._buffers:
            buffer.average()
            if self._is_sum:
                buffer.tensor.mul_(trainers.world_size)
        for index, view in enumerate(self._views):
            if view is None:
                rows = trainers.average_rows(self._results[index])
                self._results[index] = rows * trainers.world_size if self._is_sum else rows


def _described(grad: torch.Tensor) -> str:
    kind = "row-sparse gradient" if grad.is_sparse else "gradient"
    return f"{kind} {list(grad.shape)} {str(grad.dtype).removeprefix('torch.')}"


def _joined_rows(parts: list[torch.Tensor]) -> torch.Tensor:
    """The rows of row-sparse gradients, place after place; repeated ones are summed in that
    order.
    """
    merged = [p.coalesce() for p in parts]
    device = merged[0].device
    indices = torch.cat([m.indices().to(device) for m in merged], dim=1)
    values = torch.cat([m.values().to(device) for m in merged])
    return torch.sparse_coo_tensor(
        indices, values, merged[0].shape, check_invariants=False
    ).coalesce()
