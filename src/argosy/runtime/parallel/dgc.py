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
masking). Which ones those are a threshold says: that of a sample, for tensors of more than 65536
entries, so that accumulating and choosing is one pass (on a CPU). The direction is the mean of what
the ranks sent. During ``rampup_step`` steps the share that is *not* sent goes through the list
``sparsity``, then stays at its last entry. ``clip_norm`` limits the norm of each local gradient to
clip_norm/√n before it is accumulated. What is sent are int32 positions and values: 8 bytes per
entry of a float32 gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.averages import combine_gradients

_SAMPLE = 1 << 16  # entries that give the threshold: 66 of them are above it where 0.1 % are sent
_RUN = 128  # of them that lie side by side
_BLOCK = 256  # entries that are looked through together
_WIDE = (torch.float32, torch.float64)
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
        self._is_large = [p.numel() >= min_numel and p.dtype in _WIDE for p in self._params]
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
        """This rank's gradient, clipped where it is accumulated, with weight decay."""
        param = self._params[index]
        if param.grad is None:
            grad = torch.zeros_like(param)
        else:
            # where it is accumulated it becomes the direction, in its own memory
            grad = param.grad.to_dense() if param.grad.is_sparse else param.grad
            grad = grad.clone() if is_dense else grad
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
        picked: list[torch.Tensor] = []
        for i in indices:
            u, v = _state(self._u, i, local[i]), _state(self._v, i, local[i])
            pick = picked_by_threshold if v.device.type == "cpu" else _picked_by_sorting
            picked += pick(local[i], u, v, self._momentum, self._use_nesterov, keep, self.num_steps)
        shapes = [(part.dtype, part.numel()) for part in picked]
        mine = torch.cat([part.view(torch.uint8) for part in picked])
        every = [torch.empty_like(mine) for _ in range(self._group.nranks)]
        self._group.run(self._group.transport.all_gather, every, mine)
        for came in every:  # in rank order: every rank adds up the same way
            parts = torch.split(came, [dtype.itemsize * count for dtype, count in shapes])
            wide = [
                part.clone().view(dtype) for part, (dtype, _) in zip(parts, shapes, strict=True)
            ]
            for i, where, values in zip(indices, wide[::2], wide[1::2], strict=True):
                local[i].view(-1).index_add_(0, where, values, alpha=1.0 / self._group.nranks)
        for i in indices:
            self._params[i].grad = local[i]

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


def picked_by_threshold(
    grad: torch.Tensor,
    u: torch.Tensor,
    v: torch.Tensor,
    momentum: float,
    use_nesterov: bool,
    keep: float,
    step: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Accumulate ``grad`` and take the share ``keep`` of the largest entries out of ``u`` and
    ``v``: positions and values. ``grad`` is left as zeros.

    In one pass, by a threshold that a sample of the entries gives: all of them, if they are few,
    else every n-th run of neighbours, other ones at each step. Then about as many are taken as
    asked for, at most half as many again; the rest of what is returned has the value 0.
    """
    from argosy.runtime.parallel import compression_kernels as kernels  # loads numba

    g, speed, total = (t.view(-1).numpy() for t in (grad, u, v))
    count = max(1, round(total.size * keep))
    stride = -(-total.size // _SAMPLE) | 1 if total.size > _SAMPLE else 1
    found = kernels.sampled(g, speed, total, momentum, use_nesterov, _RUN, step % stride, stride)
    order = min(max(1, round(found.size * keep)), found.size)
    threshold = np.partition(found, found.size - order)[found.size - order : found.size - order + 1]
    room = count if stride == 1 else min(total.size, count + count // 2)
    where = torch.zeros(room, dtype=_position_dtype(total.size))
    values = v.new_zeros(room)
    integers, _, _ = kernels.rounding_of(total.dtype)
    kernels.accumulate(
        g,
        speed,
        total,
        total.view(integers),
        momentum,
        use_nesterov,
        threshold[0],
        threshold.view(integers)[0],
        _BLOCK,
        where.numpy(),
        values.numpy(),
    )
    return where, values


def _picked_by_sorting(
    grad: torch.Tensor,
    u: torch.Tensor,
    v: torch.Tensor,
    momentum: float,
    use_nesterov: bool,
    keep: float,
    step: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same on another device, exactly as many."""
    if use_nesterov:
        u.add_(grad).mul_(momentum)
        v.add_(u).add_(grad)
    else:
        u.mul_(momentum).add_(grad)
        v.add_(u)
    grad.zero_()
    flat = v.view(-1)
    where = torch.topk(flat.abs(), max(1, round(flat.numel() * keep)), sorted=False).indices
    values = flat[where]
    flat[where] = 0.0
    u.view(-1)[where] = 0.0
    return where.to(_position_dtype(flat.numel())), values


def _position_dtype(numel: int) -> torch.dtype:
    return torch.int32 if numel < 1 << 31 else torch.int64


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
