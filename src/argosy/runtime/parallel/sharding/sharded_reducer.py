"""The reducer of sharding stage 2: each gradient is averaged on the rank that owns its parameter,
and dropped on the others.

Gradients of one owner and dtype are joined, up to ``bucket_bytes``, as soon as all of them are
there, and reduced to the owner in one fixed order; then the memory of the joined gradients goes
back. After backward an owner's ``param.grad`` is the mean over the ranks, on the others it is None.
What a rank holds besides its own gradients are those of buckets that are not complete yet.

As in ``reducer.py`` a flag per parameter travels along, so ranks whose control flow differs stay in
step: a gradient that nobody produced stays what it was, and one that only some produced is their
sum divided by the number of ranks.

Backwards can add up: under ``no_sync()`` gradients stay on their rank, and the next synchronised
backward averages the total. Several synchronised ones add up on the owner.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import gradients
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import bucketing
from argosy.runtime.parallel.broadcast import unpack
from argosy.runtime.parallel.lifetime import make_hook
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.rounds import Rounds

_ALIGNMENT = 16


class ShardedReducer(Rounds):
    """Hooks ``params`` (leaves that require grad, the same list on every rank); ``owners`` says to
    which rank each gradient goes.

    Where several groups shard the same model, ``replicas`` has the ranks, one of each group, that
    own the same parameters: averages go over them too.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        names: Sequence[str],
        owners: Sequence[int],
        group: Group,
        bucket_bytes: int = 25 << 20,
        replicas: Group | None = None,
    ) -> None:
        if not params:
            raise UsageError("sharding: this model does not have any parameters to train")
        super().__init__(params, names)
        self._owners = list(owners)
        self._group = group
        self._replicas = replicas
        self._plan = _plan(self._params, self._owners, bucket_bytes)
        self._bucket_of = {i: number for number, indices in enumerate(self._plan) for i in indices}
        # averages that this rank owns, from earlier rounds
        self._settled: dict[int, torch.Tensor] = {}
        # those of them that this round's gradients must not mix with
        self._set_aside: dict[int, torch.Tensor] = {}
        self._open_round()
        handles = self._held.handles
        for i, param in enumerate(self._params):
            if self._owners[i] == group.rank:
                before = _ignoring_gradient(
                    make_hook(weakref.WeakMethod(self._on_arrival), i), param
                )
                handles.append(param.register_hook(before))  # type: ignore[no-untyped-call]
            after = make_hook(weakref.WeakMethod(self._on_gradient), i)
            register = param.register_post_accumulate_grad_hook
            handles.append(register(after))  # type: ignore[no-untyped-call]

    def _open_round(self) -> None:
        self._reset_round()
        self._pending = [len(indices) for indices in self._plan]
        self._ready: set[int] = set()

    def prepare(self, outputs: Sequence[torch.Tensor], is_synchronised: bool) -> None:
        super().prepare(outputs, is_synchronised)
        # not those that were cleared
        self._settled = {
            i: t for i, t in self._settled.items() if _is_same(self._params[i].grad, t)
        }

    # -- a round
    # ----------------------------------------------------------------------------------------------

    def _on_arrival(self, index: int, param: torch.Tensor) -> None:
        """A gradient is about to be added to that of an owned parameter: keep an average that is
        there apart.
        """
        if not _is_same(param.grad, self._settled.get(index)) or not gradients.will_accumulate(
            self._sinks[index]
        ):
            return
        if not self.is_armed and not self.in_round:
            raise UsageError(
                f"sharding stage 2: parameter {self._names[index]!r} already has an average over "
                "the ranks, to which a backward under no_sync() "
                "cannot add. Clear the gradients first, or run the backwards under no_sync() "
                "before the synchronised one."
            )
        self._set_aside[index] = self._settled.pop(index)
        param.grad = None

    def _on_gradient(self, index: int, param: torch.Tensor) -> None:
        if not (self.is_armed or self.in_round):
            return
        self.begin_unless_begun()
        if param.grad is not None and (param.grad.requires_grad or param.grad.is_sparse):
            what = (
                "a gradient of higher order"
                if param.grad.requires_grad
                else "a row-sparse gradient"
            )
            raise NotSupported(
                f"sharding stage 2: parameter {self._names[index]!r} got {what}; use stage 1"
            )
        if index in self._ready:
            raise UsageError(
                f"sharding stage 2: parameter {self._names[index]!r} got a second gradient in "
                "one backward, after the first was on its way to "
                "its owner. Run that part of the model once, or under no_sync()."
            )
        self._settle(index)
        self._send_ready()

    def _settle(self, index: int) -> None:
        self._ready.add(index)
        self._pending[self._bucket_of[index]] -= 1

    def _send_ready(self) -> None:
        """Send the buckets whose turn it is and whose gradients are all settled."""
        while self._next < len(self._pending) and self._pending[self._next] == 0:
            number, self._next = self._next, self._next + 1
            self._send(number)

    @torch.no_grad()
    def _send(self, number: int) -> None:
        """Join the gradients of a bucket, average them on their owner and give up the rest."""
        indices = self._plan[number]
        params = [self._params[i] for i in indices]
        starts, total = bucketing.offsets([p.numel() for p in params], _ALIGNMENT)
        flat = params[0].new_zeros(total + len(params))
        views = [flat[s : s + p.numel()].view(p.shape) for s, p in zip(starts, params, strict=True)]
        for k, (index, param) in enumerate(zip(indices, params, strict=True)):
            if param.grad is None or _is_same(param.grad, self._settled.get(index)):
                continue
            views[k].copy_(param.grad)
            flat[total + k] = 1.0
            param.grad = None
        owner = self._owners[indices[0]]
        self._group.run(self._group.transport.reduce, flat, owner, ReduceOp.AVG)
        if owner == self._group.rank:
            if self._replicas is not None:
                self._replicas.run(self._replicas.transport.all_reduce, flat, ReduceOp.AVG)
            is_produced = (flat[total:] > 0).tolist()
            for index, view, has_come in zip(indices, views, is_produced, strict=True):
                self._keep(index, view if has_come else None)

    def _keep(self, index: int, average: torch.Tensor | None) -> None:
        """Give an owned parameter its gradient: what it had from earlier rounds, plus this round's
        average if there is one.
        """
        param = self._params[index]
        before = self._set_aside.pop(index, None)
        if before is None and _is_same(param.grad, self._settled.get(index)):
            before = param.grad
        if average is not None and before is not None:
            average.add_(before)
        grad = average if average is not None else before
        if grad is None:
            return
        param.grad = grad.detach()
        self._settled[index] = param.grad

    @torch.no_grad()
    def _finish(self) -> None:
        """The end of backward: reduce what is left, with zeros for what this rank did not
        produce.
        """
        for index in range(len(self._params)):
            if index not in self._ready:
                self._settle(index)
        self._send_ready()
        self._open_round()


class ReplicatedReducer(Reducer):
    """Averages over ``group`` as its base does, and then over ``replicas``, the ranks that have the
    same place in other groups.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        names: Sequence[str],
        sparse: Sequence[bool],
        group: Group,
        options: ReducerOptions,
        replicas: Group,
    ) -> None:
        self._replicas = replicas
        super().__init__(params, names, sparse, group, options)

    @torch.no_grad()
    def _finish(self) -> None:
        super()._finish()
        for dtype in dict.fromkeys(p.dtype for p in self._params):
            # averages of earlier rounds are equal everywhere, so that averaging them again does not
            # change them
            grads = [p.grad for p in self._params if p.grad is not None and p.dtype is dtype]
            if not grads:
                continue
            flat = torch.cat([g.reshape(-1) for g in grads])
            self._replicas.run(self._replicas.transport.all_reduce, flat, ReduceOp.AVG)
            unpack(flat, grads)


def _plan(
    params: Sequence[torch.Tensor], owners: Sequence[int], bucket_bytes: int
) -> list[tuple[int, ...]]:
    """Buckets of one owner and dtype, in the order in which backward is expected to complete them,
    from the last parameter to the first.
    """
    position = {i: at for at, i in enumerate(reversed(range(len(params))))}
    buckets: list[tuple[int, ...]] = []
    for owner in sorted(set(owners)):
        items = [
            bucketing.Item(index=i, numel=params[i].numel(), dtype=params[i].dtype)
            for i in position
            if owners[i] == owner
        ]
        buckets += bucketing.plan(items, bucket_bytes, bucket_bytes)
    return sorted(buckets, key=lambda indices: max(position[i] for i in indices))


def _is_same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    return a is not None and b is not None and a.data_ptr() == b.data_ptr()


def _ignoring_gradient(hook: Any, param: torch.Tensor) -> Any:
    """A hook for the gradient of ``param`` that calls ``hook(param)`` and changes nothing; it does
    not keep the parameter alive.
    """
    reference = weakref.ref(param)

    def call(_: torch.Tensor) -> None:
        alive = reference()
        if alive is not None:
            hook(alive)

    return call
