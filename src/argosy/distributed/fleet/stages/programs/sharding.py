"""``sharding``: each worker updates its own share of the parameters, keeps optimizer state for
these only, and hands them to the others.

Stage 1 averages all gradients everywhere; stage 2 reduces each to the worker that updates its
parameter, where nothing else needs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import Sharding
from argosy.distributed.fleet.stages.programs import points
from argosy.distributed.fleet.stages.programs.gradients import FleetExchange, in_place
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.foundation.errors import NotSupported
from argosy.nn.clip import ClipGradByGlobalNorm
from argosy.ops.table import Op
from argosy.ops.training import clipping
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.parallel.sharding.shards import (
    assign_owners,
    broadcast_from_owners,
    gather_named,
    sum_on_owners,
)
from argosy.static import Program, Scope
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.rows import row_names
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.parallel.compiled import attached_exchange
from argosy.static.parallel.exchange import Combiner
from argosy.static.parallel.rewrite import is_of_loss
from argosy.static.parallel.trainers import Trainers

__all__ = ["ShardedExchange", "full_state"]

Pairs = list[tuple[Parameter, Variable]]


class ShardedExchange(FleetExchange):
    """Which worker updates what. Workers are numbered within their copy of the shards: with
    ``degree`` below their number there are several copies.

    Gradients are combined here, all of them on every worker: each program by itself reads only
    those that its worker needs.

    Made while the program is recorded: ``select`` and ``updating_own`` narrow what is recorded then
    to this worker's share.
    """

    combines_gradients = False
    takes_places = False

    def __init__(
        self,
        workers: Workers,
        settings: Sharding,
        pairs: Pairs,
        optimizer: Any,
        is_sum: bool,
        is_half: bool,
    ) -> None:
        if settings.stage == 3:
            raise NotSupported(
                "sharding_configs: stage=3 is not supported in static mode: a program holds "
                "whole parameters"
            )
        super().__init__(workers, is_half)
        degree = settings.degree
        sizes = [p.raw.numel() * p.raw.element_size() for p, _ in pairs]
        self._owners = dict(
            zip([p.name for p, _ in pairs], assign_owners(sizes, degree), strict=True)
        )
        self._rank = workers.rank % degree
        self._scale = float(workers.nranks) if is_sum else 1.0
        self.reduces = (
            settings.stage == 2
            and degree == workers.nranks
            and not is_half
            and _can_reduce(pairs, self._owners, degree, optimizer)
        )
        # variables of this worker's share, with the parameters they belong to
        self._state: dict[str, str] = {}
        self._common: frozenset[str] = frozenset()

    # -- recording
    # ----------------------------------------------------------------------------------------------

    def owns(self, name: str) -> bool:
        return name in self._owners and self._owners[name] == self._rank

    def select(self, pairs: Pairs) -> Pairs:
        """The pairs to update from; all where clipping must see all."""
        return [(p, g) for p, g in pairs if self.owns(p.name)] if self.reduces else pairs

    @contextlib.contextmanager
    def updating_own(self, optimizer: Any) -> Iterator[None]:
        """Have ``optimizer`` record updates of this worker's parameters only, behind the clipping
        of all gradients.
        """
        clips: list[Any] = []

        def narrow(clip: Any, _: int | None) -> Any:
            clips.append(clip)
            return self._narrowed(clip)

        optimizer.change_clips(narrow)
        try:
            yield
        finally:
            optimizer.change_clips(lambda *_: clips.pop(0))

    def _narrowed(self, clip: Any) -> Callable[[Pairs], Pairs]:
        def narrow(pairs: Pairs) -> Pairs:
            clipped = pairs if clip is None else clip(pairs)
            return [(p, g) for p, g in clipped if self.owns(p.name)]

        return narrow

    def note_state(self, before: Collection[str], after: Collection[str]) -> None:
        """Tell apart the variables that all workers have and those of this worker's share, from
        what was there before and after recording the updates.
        """
        self._common = frozenset(before)
        own = sorted((name for name in self._owners if self.owns(name)), key=len, reverse=True)
        for name in after:
            if name in self._common:
                continue
            owner = next((param for param in own if name.startswith(f"{param}_")), None)
            if owner is not None:
                self._state[name] = owner

    # -- running
    # ----------------------------------------------------------------------------------------------

    def operators(
        self, operators: list[Operator], fetches: Sequence[str], combiner: Combiner
    ) -> list[Operator]:
        changed = {name for o in operators if not is_of_loss(o) for name in o.output_arg_names}
        operators = points.behind_gradients(
            operators, self._owners, partial(self._gradients, combiner, changed)
        )
        if self.reduces:
            operators = points.behind_overflow_checks(operators, self.overflow_op())
        refs = [Ref(name) for name in self._owners]
        return points.behind_updates(
            operators,
            Op("broadcast_parameters_", self._broadcast, mutates=("params",)),
            (refs,),
            refs,
        )

    def _gradients(
        self,
        combiner: Combiner,
        changed: set[str],
        params: list[str],
        grads: list[str],
        is_merged: bool,
    ) -> tuple[Op, tuple[Any, ...], list[str]]:
        if not self.reduces:
            op = (
                in_place(combiner(tuple(grads), False))
                if is_merged
                else combiner(tuple(grads), bool(changed & set(grads)))
            )
            return op, (), grads
        owners = [self._owners[name] for name in params]
        scale, group = self._scale / self.group.nranks, self.group

        def reduce_(values: list[torch.Tensor]) -> list[torch.Tensor]:
            sum_on_owners([g.detach() for g in values], owners, group, scale)
            return values

        def reduce(values: list[torch.Tensor]) -> list[torch.Tensor]:
            # copies: autograd may hand out one tensor as the gradient of several variables
            taken = reduce_([g.detach().clone() for g in values])
            return [g for g, owner in zip(taken, owners, strict=True) if owner == self._rank]

        if is_merged:
            return Op("reduce_gradients_", reduce_, mutates=("values",)), (), grads
        return (
            Op("reduce_gradients", reduce),
            (),
            [g for p, g in zip(params, grads, strict=True) if self.owns(p)],
        )

    @torch.no_grad()
    def _broadcast(self, params: list[torch.Tensor]) -> None:
        # Copies of the shards hold equal values, so those of the first serve all.
        broadcast_from_owners(params, list(self._owners.values()), self.group)

    def function(self, op: Op) -> Callable[..., Any] | None:
        return self._clip if self.reduces and op is clipping.clip_grads_by_global_norm else None

    def _clip(self, grads: list[torch.Tensor], clip_norm: float) -> list[torch.Tensor]:
        """Clip by the norm of the gradients of all workers."""
        merged = [g.clone() for g in clipping.merged(grads)]
        square = clipping.total_norm(merged).double() ** 2
        self.group.run(self.group.transport.all_reduce, square, ReduceOp.SUM)
        clipping.scale_(
            merged, clipping.shrink_factor(square.sqrt(), clip_norm).to(merged[0].dtype)
        )
        return merged

    def agree(self, tensors: Mapping[str, torch.Tensor], trainers: Trainers) -> None:
        """All but the shares."""
        super().agree({name: t for name, t in tensors.items() if name in self._common}, trainers)

    def gathered(self, scope: Scope, dst: int | None = None) -> dict[str, torch.Tensor]:
        """The state of all shares by name, on worker ``dst`` or on all; every worker calls it."""
        own = (
            {name: scope.holding(name).tensor for name in self._state}
            if self.group.rank == self._rank
            else {}
        )
        held = {name: t for name, t in own.items() if t is not None}
        return gather_named(held, self.group, dst)


def _can_reduce(pairs: Pairs, owners: Mapping[str, int], degree: int, optimizer: Any) -> bool:
    """Whether every worker has a gradient to clip and update, so that all of them take part in each
    exchange.
    """
    rows = row_names(pairs[0][0].block.ops)
    if optimizer.has_groups or any(grad.name in rows for _, grad in pairs):
        return False
    clips = isinstance(optimizer.clip, ClipGradByGlobalNorm)
    busy = {
        owners[p.name] for p, _ in pairs if not clips or getattr(p, "need_clip", True) is not False
    }
    return len(busy) == degree


def full_state(program: Program, scope: Scope, dst: int | None = None) -> dict[str, torch.Tensor]:
    """The optimizer state that sharding has split over the workers of ``program``; empty without
    sharding. Every worker calls it.

    What is not split (parameters, step counts, rates, the loss's scale) is in the scope of every
    worker.
    """
    exchange = attached_exchange(program)
    return exchange.gathered(scope, dst) if isinstance(exchange, ShardedExchange) else {}
