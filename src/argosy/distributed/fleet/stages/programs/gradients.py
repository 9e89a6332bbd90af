"""Exchanges of gradients: in 16 bits, and merged ones at the last of the merged runs only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.fleet.stages.programs import points
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.distributed.trainers import AveragedBucket
from argosy.ops.table import Op
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.compression import half_buckets
from argosy.runtime.parallel.overflow import found_anywhere
from argosy.static.ir.operator import Operator
from argosy.static.parallel.exchange import Combiner, Exchange
from argosy.static.parallel.trainers import SharedBuffer, Trainers

__all__ = ["FleetExchange", "MergedExchange", "in_place"]


class FleetExchange(Exchange):
    """Data parallelism over ``workers``. ``is_half``: gradients travel as float16."""

    def __init__(self, workers: Workers, is_half: bool = False) -> None:
        self.workers = workers
        self._make_bucket = half_buckets(torch.float16) if is_half else None

    @property
    def group(self) -> Group:
        return self.workers.group

    def buffer(
        self, trainers: Trainers, numel: int, dtype: torch.dtype, device: torch.device
    ) -> SharedBuffer:
        if self._make_bucket is None:
            return super().buffer(trainers, numel, dtype, device)
        bucket = self.group.run(self._make_bucket, self.group.transport, numel, dtype, device, 0)
        return AveragedBucket(bucket, self.group)

    def overflow_op(self) -> Op:
        """Take what one worker's check of loss scaling found to what any found; for gradients that
        differ between workers.
        """

        def agree(found: torch.Tensor) -> torch.Tensor:
            return torch.full_like(found, found_anywhere(bool(found.item()), self.group))

        return Op("agree_on_overflow", agree, params=("found",))


class MergedExchange(FleetExchange):
    """Averages the sums of merged gradients, when an update is due."""

    combines_gradients = False
    takes_places = False

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        def make(
            _: list[str], grads: list[str], is_merged: bool
        ) -> tuple[Op, tuple[Any, ...], list[str]]:
            return in_place(combiner(tuple(grads), False)), (), grads

        return points.behind_gradients(operators, (), make)


def in_place(op: Op) -> Op:
    """The op of a combiner as one that leaves its results in what it was given."""

    def combine(grads: list[torch.Tensor]) -> list[torch.Tensor]:
        for grad, value in zip(grads, op.fn(grads), strict=True):
            grad.copy_(value)
        return grads

    return Op(f"{op.name}_", combine, mutates=("grads",))
