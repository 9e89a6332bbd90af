"""Running totals, products and extremes, and integrals."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.ops.math import scan as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.inplace import change, replace
from argosy.tensor._core.tensor import apply

__all__ = [
    "cummax", "cummin", "cumprod", "cumprod_", "cumsum", "cumsum_", "cumulative_trapezoid",
    "logcumsumexp", "trapezoid",
]  # fmt: skip


def _dtype(dtype: Any) -> torch.dtype | None:
    return None if dtype is None else dtypes.to_torch(dtype)


def cumsum(
    x: Any, axis: int | None = None, dtype: Any = None, name: str | None = None, *, out: Any = None
) -> Any:
    """Sum up along ``axis``, or over the flattened tensor; integers give int64.

    Example:
        >>> import paddle
        >>> paddle.cumsum(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 3, 6, 10]
    """
    return store(out, apply(ops.cumsum, x, axis, _dtype(dtype)), "cumsum")


def cumprod(
    x: Any, dim: int | None = None, *, dtype: Any = None, out: Any = None, name: str | None = None
) -> Any:
    """Multiply up along ``dim``, or over the flattened tensor."""
    return store(out, apply(ops.cumprod, x, dim, _dtype(dtype)), "cumprod")


def cumsum_(x: Any, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Any:
    """In-place form of ``cumsum``; without ``dtype`` that of ``x`` stays."""
    return replace(x, cumsum(x, axis, dtype or x.dtype), "cumsum_")


def cumprod_(x: Any, dim: int | None = None, dtype: Any = None, name: str | None = None) -> Any:
    """In-place form of ``cumprod``."""
    return change(x, "cumprod_", cumprod, x, dim, dtype=dtype)


def logcumsumexp(
    x: Any, axis: int | None = None, dtype: Any = None, name: str | None = None
) -> Any:
    """``log(cumsum(exp(x)))`` without overflow, along ``axis`` or over the flattened tensor."""
    return apply(ops.logcumsumexp, x, axis, _dtype(dtype))


def cummax(x: Any, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> Any:
    """The largest value so far and its position, the latest of equal ones; ``dtype`` is that of the
    positions.

    Example:
        >>> import paddle
        >>> values, positions = paddle.cummax(paddle.to_tensor([1, 3, 2, 3]))
        >>> values.tolist(), positions.tolist()
        ([1, 3, 3, 3], [0, 1, 1, 3])
    """
    return _extreme(ops.cummax, x, axis, dtype)


def cummin(x: Any, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> Any:
    """The smallest value so far and its position, the latest of equal ones; ``dtype`` is that of
    the positions.
    """
    return _extreme(ops.cummin, x, axis, dtype)


def _extreme(op: Op, x: Any, axis: int | None, dtype: Any) -> Any:
    position_dtype = dtypes.to_torch(dtype)
    if position_dtype not in (torch.int32, torch.int64):
        raise UsageError(
            f"{op.name}: dtype of the positions must be int32 or int64, but received {dtype}"
        )
    return apply(op, x, axis, position_dtype)


def trapezoid(
    y: Any, x: Any = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Any:
    """Integrate ``y`` along ``axis`` by the trapezoid rule, at the points ``x`` or with the step
    ``dx`` (1).
    """
    return _integrate(y, x, dx, axis, False)


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Any:
    """The running integral of ``y`` by the trapezoid rule; one element shorter than ``y`` along
    ``axis``.
    """
    return _integrate(y, x, dx, axis, True)


def _integrate(y: Any, x: Any, dx: float | None, axis: int, cumulative: bool) -> Any:
    if x is not None and dx is not None:
        raise UsageError("trapezoid: x and dx say the same thing twice; pass one of them")
    return apply(ops.trapezoid, y, x, 1.0 if dx is None else dx, axis, cumulative)
