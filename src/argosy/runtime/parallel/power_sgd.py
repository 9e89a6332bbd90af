"""PowerSGD: ranks exchange an approximation of low rank of every gradient that is a matrix.

::

    power = PowerSGD(params, group, rank=4)
    ...
    loss.backward()             # gradients of this rank, not averaged
    power.exchange()            # every param.grad is now the same on all ranks
    optimizer.step()

A gradient G of n rows and m columns, with what was left of the last ones, is written as P·Qᵀ with
``rank`` columns in P and Q, by one step of power iteration that begins with the Q of the last
time::

    M = G + E       P = mean(M·Q), its columns made orthonormal       Q = mean(Mᵀ·P)
    E = M - P·Qᵀ    the gradient becomes P·Qᵀ

so ``4·rank·(n + m)`` bytes travel instead of ``4·n·m``. Tensors of more dimensions are matrices of
their first one; vectors, and matrices that this would not halve, travel as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.averages import combine_gradients

_SEED = 1  # of the first Q, the same on all ranks
_WIDE = (torch.float32, torch.float64)


def is_worth_it(shape: Sequence[int], rank: int) -> bool:
    """Whether a gradient of this shape takes at most half the bytes as two factors."""
    if len(shape) < 2 or not all(shape):
        return False
    rows = shape[0]
    columns = torch.Size(shape[1:]).numel()
    return 2 * rank * (rows + columns) <= rows * columns


class PowerSGD:
    """Makes the local gradients of ``params`` (the same list on every rank) common to the ranks. Up
    to step ``begin_step`` (counted from 0) they are averaged as they are.
    """

    def __init__(
        self, params: Sequence[torch.Tensor], group: Group, rank: int = 4, begin_step: int = 0
    ) -> None:
        if rank < 1:
            raise UsageError(f"powersgd: rank must be at least 1, but is {rank}")
        self._params = list(params)
        self._group = group
        self._rank = rank
        self._begin_step = begin_step
        self._factored = [
            i for i, p in enumerate(self._params) if is_worth_it(p.shape, rank) and p.dtype in _WIDE
        ]
        self._q: dict[int, torch.Tensor] = {}
        self._left: dict[int, torch.Tensor] = {}  # what the approximations have left out so far
        self.num_steps = 0

    @torch.no_grad()
    def exchange(self) -> None:
        """Replace ``param.grad`` by the mean over the ranks, or its approximation; every rank calls
        it, a missing gradient counts as zeros.
        """
        factored = self._factored if self.num_steps >= self._begin_step else []
        whole = [i for i in range(len(self._params)) if i not in factored]
        for i in whole:
            self._params[i].grad = self._gradient(i).contiguous()
        grads = [self._params[i].grad for i in whole]
        matrices = {i: self._with_left(i) for i in factored}
        p = {i: matrix @ self._start(i, matrix) for i, matrix in matrices.items()}
        self._average([*grads, *p.values()])  # type: ignore[list-item]
        p = {i: torch.linalg.qr(value).Q for i, value in p.items()}
        self._q |= {i: matrix.T @ p[i] for i, matrix in matrices.items()}
        self._average([self._q[i] for i in factored])
        for i, matrix in matrices.items():
            near = p[i] @ self._q[i].T
            matrix -= near
            self._params[i].grad = near.view(self._params[i].shape)
        self.num_steps += 1

    def _gradient(self, index: int) -> torch.Tensor:
        param = self._params[index]
        if param.grad is None:
            return torch.zeros_like(param)
        return param.grad.to_dense() if param.grad.is_sparse else param.grad

    def _with_left(self, index: int) -> torch.Tensor:
        """The gradient as a matrix, with what was left; it lies where that is kept."""
        grad = self._gradient(index)
        matrix = grad.reshape(grad.shape[0], -1)
        if index in self._left:
            return self._left[index].add_(matrix)
        self._left[index] = matrix.clone()
        return self._left[index]

    def _start(self, index: int, matrix: torch.Tensor) -> torch.Tensor:
        if index not in self._q:
            draw = torch.Generator(device="cpu").manual_seed(_SEED + index)
            shape = (matrix.shape[1], min(self._rank, *matrix.shape))
            q = torch.randn(shape, generator=draw, dtype=torch.float64)
            self._q[index] = q.to(matrix)
        return self._q[index]

    def _average(self, tensors: Sequence[torch.Tensor]) -> None:
        if tensors:
            scale = 1.0 / self._group.nranks
            self._group.run(combine_gradients, tensors, scale, self._group.transport)

    def state_dict(self) -> dict[str, Any]:
        """The factors, which are those of all ranks, and what this rank has left out."""
        return {"num_steps": self.num_steps, "q": dict(self._q), "left": dict(self._left)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what the same rank of a job of the same size saved."""
        self.num_steps = int(state["num_steps"])
        self._q = {int(i): t.clone() for i, t in state["q"].items()}
        self._left = {int(i): t.clone() for i, t in state["left"].items()}
