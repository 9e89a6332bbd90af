"""Normalisation by running sums that training keeps as parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops.table import op

_ABSENT = 1e-7  # a slot whose first number is this close to zero was not shown


class _DataNorm(torch.autograd.Function):
    """Its "gradients" of the three sums are what the batch adds to them, which an optimizer of its
    own kind takes.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, size: Tensor, total: Tensor, square: Tensor, epsilon: float, slot: int
    ) -> Tensor:
        mean = total / size
        scale = (size / square).sqrt()
        shown = _shown(x, slot)
        ctx.save_for_backward(x, mean, scale, shown)
        ctx.epsilon = epsilon
        ctx.has_slots = slot > 0
        return torch.where(shown, (x - mean) * scale, 0.0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, mean, scale, shown = ctx.saved_tensors
        grad = grads[0] * scale  # of slots that were not shown too, as in Paddle
        count = shown.sum(0, dtype=x.dtype)
        total = torch.where(shown, x, 0.0).sum(0)
        square = torch.where(shown, (x - mean).square(), 0.0).sum(0)
        if ctx.has_slots:
            some = count.clamp_min(1.0)
            total, square = total / some, square / some + count * ctx.epsilon
            count = count.clamp_max(1.0)
        else:
            square = square + count * ctx.epsilon
        return grad, count, total, square, None, None


def _shown(x: Tensor, slot: int) -> Tensor:
    if slot <= 0:
        return torch.ones_like(x, dtype=torch.bool)
    first = x[:, ::slot].abs() >= _ABSENT
    return first.repeat_interleave(slot, 1)


@op(
    "data_norm",
    types=(
        "data_norm(X, BatchSize, BatchSum, BatchSquareSum, epsilon, slot_dim) -> Y, Means, Scales",
    ),
)
def data_norm(
    x: Tensor, size: Tensor, total: Tensor, square: Tensor, epsilon: float, slot_dim: int = -1
) -> Tensor:
    """``(x - total / size) * sqrt(size / square)`` for rows ``x``.

    With ``slot_dim``, columns come in slots of that many; a slot whose first number is zero gives
    zeros and is not counted.
    """
    args = x, size, total, square, epsilon, slot_dim
    out: Tensor = _DataNorm.apply(*args)  # type: ignore[no-untyped-call]
    return out
