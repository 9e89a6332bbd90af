"""Deep gradient compression: momentum SGD that sends only the largest accumulated gradients.

::

    dgc = DeepGradientCompression(params, group, momentum=0.9, rampup_begin_step=100,
    rampup_step=10, sparsity=[0.75, 0.9375, 0.999]) ... loss.backward()             # gradients of
    this rank, not averaged dgc.exchange()              # every param.grad is now the direction of
    the step plain SGD: param -= lr * param.grad

Momentum is part of it, in both phases and in one state, so the optimizer around it must be SGD
without momentum. ``weight_decay`` (L2) belongs here too.

Before step ``rampup_begin_step`` (counted from 0) it is momentum on the mean gradient. From then
on, for tensors of at least ``min_numel`` elements, each rank keeps a velocity u and an accumulation
v (momentum correction)::

    u = m·u + g                 v = v + u             (nesterov: u = m·(u + g), v = v + u + g)

sends the entries of v that are largest in absolute value, and clears u and v there (factor
masking). The direction is the mean of what the ranks sent. During ``rampup_step`` steps the share
that is *not* sent goes through the list ``sparsity``, then stays at its last entry. ``clip_norm``
limits the norm of each local gradient to clip_norm/√n before it is accumulated. What is sent are
int32 positions and values: 8 bytes per entry of a float32 gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.averages import combine_gradients

_MIN_NUMEL = 16384  # Paddle's: below it positions and bookkeeping cost more than they save


def sparsity_at(
    step: int, rampup_begin_step: int, rampup_step: int, sparsity: Sequence[float]
) -> float:
    """The share of entries that stays behind at ``step``; 0 before the ramp begins."""
    since = step - rampup_begin_step
    if since < 0:
        return 0.0
    return sparsity[min(since * len(sparsity) // max(rampup_step, 1), len(sparsity) - 1)]


class DeepGradientCompression:
    """Turns the local gradients of ``params`` (the same list on every rank) into the direction of
    the common step.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        group: Group,
        *,
        momentum: float = 0.9,
        use_nesterov: bool = False,
        rampup_begin_step: int = 0,
        rampup_step: int = 1,
        sparsity: Sequence[float] = (0.999,),
        clip_norm: float | None = None,
        weight_decay: float = 0.0,
        min_numel: int = _MIN_NUMEL,
    ) -> None:
        self._params = list(params)
        self._group = group
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._rampup = (rampup_begin_step, rampup_step, _checked_sparsity(sparsity))
        self._clip_norm = None if clip_norm is None else clip_norm * group.nranks**-0.5
        self._weight_decay = weight_decay
        self._is_large = [p.numel() >= min_numel and p.dtype.itemsize >= 4 for p in self._params]
        self._u: dict[int, torch.Tensor] = {}
        self._v: dict[int, torch.Tensor] = {}
        self.num_steps = 0

    @torch.no_grad()
    def exchange(self) -> None:
        """Replace ``param.grad`` by the direction of this step; every rank calls it, a missing
        gradient counts as zeros.
        """
        is_dense_phase = self.num_steps < self._rampup[0]
        dense = [i for i, is_large in enumerate(self._is_large) if is_dense_phase or not is_large]
        sparse = (
            [] if is_dense_phase else [i for i, is_large in enumerate(self._is_large) if is_large]
        )
        local = {
            i: self._local_gradient(i, is_dense_phase or i not in sparse)
            for i in range(len(self._params))
        }
        self._group.run(
            combine_gradients,
            [local[i] for i in dense],
            1.0 / self._group.nranks,
            self._group.transport,
        )
        for i in dense:
            self._params[i].grad = self._momentum_direction(i, local[i])
        if sparse:
            self._exchange_largest(sparse, local)
        self.num_steps += 1

    def _local_gradient(self, index: int, is_dense: bool) -> torch.Tensor:
        """This rank's gradient as a tensor of its own, clipped where it is accumulated, with weight
        decay.
        """
        param = self._params[index]
        if param.grad is None:
            grad = torch.zeros_like(param)
        else:
            grad = param.grad.to_dense() if param.grad.is_sparse else param.grad.clone()
        if self._clip_norm is not None and not is_dense:
            norm = torch.linalg.vector_norm(grad)
            grad.mul_(self._clip_norm / norm.clamp_min(self._clip_norm))
        if self._weight_decay:
            grad.add_(param, alpha=self._weight_decay)
        return grad.contiguous()

    def _momentum_direction(self, index: int, grad: torch.Tensor) -> torch.Tensor:
        u = _state(self._u, index, grad)
        u.mul_(self._momentum).add_(grad)
        return grad.add_(u, alpha=self._momentum) if self._use_nesterov else u.clone()

    def _exchange_largest(self, indices: Sequence[int], local: dict[int, torch.Tensor]) -> None:
        """Accumulate, send the largest entries of all tensors at once, and lay the mean of what
        came into the gradients.
        """
        keep = 1.0 - sparsity_at(self.num_steps, *self._rampup)
        chosen: list[torch.Tensor] = []
        values: list[torch.Tensor] = []
        for i in indices:
            v = self._accumulated(i, local[i]).view(-1)
            where = torch.topk(v.abs(), max(1, round(v.numel() * keep)), sorted=False).indices
            chosen.append(where.to(torch.int32 if v.numel() < 1 << 31 else torch.int64))
            values.append(v[where])
            v[where] = 0.0
            self._u[i].view(-1)[where] = 0.0
        counts = [len(where) for where in chosen]
        for dtypes in dict.fromkeys(
            (c.dtype, v.dtype) for c, v in zip(chosen, values, strict=True)
        ):
            at = [
                k
                for k, (c, v) in enumerate(zip(chosen, values, strict=True))
                if (c.dtype, v.dtype) == dtypes
            ]
            wheres = self._gathered(torch.cat([chosen[k] for k in at]))
            sums = self._gathered(torch.cat([values[k] for k in at]))
            # in rank order: every rank adds up the same way
            for where, value in zip(wheres, sums, strict=True):
                sizes = [counts[k] for k in at]
                for k, w, x in zip(
                    at, torch.split(where, sizes), torch.split(value, sizes), strict=True
                ):
                    local[indices[k]].view(-1).index_add_(0, w, x, alpha=1.0 / self._group.nranks)
        for i in indices:
            self._params[i].grad = local[i]

    def _accumulated(self, index: int, grad: torch.Tensor) -> torch.Tensor:
        """Add ``grad`` to the state; leaves zeros in ``grad``, where the direction will be."""
        u, v = _state(self._u, index, grad), _state(self._v, index, grad)
        if self._use_nesterov:
            u.add_(grad).mul_(self._momentum)
            v.add_(u).add_(grad)
        else:
            u.mul_(self._momentum).add_(grad)
            v.add_(u)
        grad.zero_()
        return v

    def _gathered(self, mine: torch.Tensor) -> list[torch.Tensor]:
        every = [torch.empty_like(mine) for _ in range(self._group.nranks)]
        self._group.run(self._group.transport.all_gather, every, mine)
        return every

    def state_dict(self) -> dict[str, object]:
        """The rank's own state: velocities and what it has not sent, by the number of the
        parameter.
        """
        return {"num_steps": self.num_steps, "u": dict(self._u), "v": dict(self._v)}

    def use_state(
        self, num_steps: int, u: Sequence[torch.Tensor], v: Sequence[torch.Tensor]
    ) -> None:
        """Continue with velocities ``u`` and accumulations ``v`` that someone else keeps, one for
        each parameter; they are changed in place.
        """
        self.num_steps, self._u, self._v = num_steps, dict(enumerate(u)), dict(enumerate(v))

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Continue from what the same rank of a job of the same size saved."""
        self.num_steps = int(state["num_steps"])  # type: ignore[call-overload]
        self._u = {int(i): t.clone() for i, t in state["u"].items()}  # type: ignore[attr-defined]
        self._v = {int(i): t.clone() for i, t in state["v"].items()}  # type: ignore[attr-defined]


def _state(states: dict[int, torch.Tensor], index: int, like: torch.Tensor) -> torch.Tensor:
    state = states.get(index)
    if state is None:
        state = states[index] = torch.zeros_like(like)
    return state


def _checked_sparsity(sparsity: Sequence[float]) -> list[float]:
    values = list(sparsity) or [0.999]
    for value in values:
        if not 0.0 <= value < 1.0:
            raise UsageError(f"dgc: sparsity must be at least 0 and below 1, but is {values}")
    return values
