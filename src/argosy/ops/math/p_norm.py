"""The p-norm of vectors, with Paddle's gradients where it has a kink; holds no op."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def p_norm(
    x: Tensor,
    p: float,
    axis: Any = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The p-norm with Paddle's gradients where the norm has a kink: zeros for ``p`` 0, which counts
    elements, and the whole gradient for each of several elements that are the largest or least.
    """
    if x.requires_grad and p in (0.0, math.inf, -math.inf):
        return _KinkedNorm.apply(x, p, axis, keepdim, dtype)  # type: ignore[no-untyped-call]
    return torch.linalg.vector_norm(x, p, axis, keepdim, dtype=dtype)


class _KinkedNorm(torch.autograd.Function):
    """The norms that count elements or choose some of them."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, p: float, axis: Any, keepdim: bool, dtype: torch.dtype | None
    ) -> Tensor:
        out = torch.linalg.vector_norm(x, p, axis, True, dtype=dtype)
        ctx.save_for_backward(x, out)
        ctx.counts = p == 0
        return out if keepdim else out.reshape(_without(x.shape, axis))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, out = ctx.saved_tensors
        if ctx.counts:
            return torch.zeros_like(x), None, None, None, None
        chosen = (x.abs() == out) * grad.reshape(out.shape)
        return (torch.sgn(x) * chosen).to(x.dtype), None, None, None, None


def _without(shape: torch.Size, axis: Any) -> list[int]:
    """What is left of a shape after a reduction over ``axis``; None is all."""
    if axis is None:
        return []
    gone = {a % len(shape) for a in ([axis] if isinstance(axis, int) else axis)}
    return [n for a, n in enumerate(shape) if a not in gone]
