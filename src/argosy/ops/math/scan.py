"""Running totals, products and extremes along one axis."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops import composition
from argosy.ops.array.shape import number
from argosy.ops.table import op
from argosy.ops.traits import Precision


def _along(x: Tensor, axis: Any) -> tuple[Tensor, int]:
    """The tensor and axis to scan: without an axis the flattened tensor."""
    return (x.reshape(-1), 0) if axis is None else (x, number(axis, 0))


@op("cumsum", precision=Precision.BLACK, types=("cumsum(X, axis:flat, -)",))
def cumsum(x: Tensor, axis: Any, dtype: torch.dtype | None = None) -> Tensor:
    """Integers are summed, and returned, in int64 unless ``dtype`` says otherwise."""
    x, axis = _along(x, axis)
    return torch.cumsum(x, axis, dtype=dtype)


@op(
    "cumprod",
    types=("cumprod(X, dim, -)",),
    precision=Precision.BLACK,
    file_parts=composition.along_flat("cumprod"),
)
def cumprod(x: Tensor, axis: Any, dtype: torch.dtype | None = None) -> Tensor:
    x, axis = _along(x, axis)
    return torch.cumprod(x, axis, dtype=x.dtype if dtype is None else dtype)


@op("logcumsumexp", types=("logcumsumexp(X, axis:flat, -)",))
def logcumsumexp(x: Tensor, axis: Any, dtype: torch.dtype | None = None) -> Tensor:
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.float32
    x, axis = _along(x, axis)
    return torch.logcumsumexp(x.to(dtype), axis)


@op(
    "cummax",
    types=("cummax(/x, axis, dtype:dtype) -> out, indices",),
    file_parts=composition.along_flat("cummax"),
)
def cummax(x: Tensor, axis: Any, dtype: torch.dtype = torch.int64) -> tuple[Tensor, Tensor]:
    """Values and the positions they came from, the latest of equal ones."""
    x, axis = _along(x, axis)
    values, indices = torch.cummax(x, axis)
    return values, indices.to(dtype)


@op(
    "cummin",
    types=("cummin(/x, axis, dtype:dtype) -> out, indices",),
    file_parts=composition.along_flat("cummin"),
)
def cummin(x: Tensor, axis: Any, dtype: torch.dtype = torch.int64) -> tuple[Tensor, Tensor]:
    """Values and the positions they came from, the latest of equal ones."""
    x, axis = _along(x, axis)
    values, indices = torch.cummin(x, axis)
    return values, indices.to(dtype)


@op("trapezoid")
def trapezoid(
    y: Tensor, x: Tensor | None, dx: float, axis: int, cumulative: bool = False
) -> Tensor:
    """Integrate ``y`` by the trapezoid rule, over the points ``x`` or with the step ``dx``."""
    rule = torch.cumulative_trapezoid if cumulative else torch.trapezoid
    result: Tensor = rule(y, dx=dx, dim=axis) if x is None else rule(y, x, dim=axis)
    return result
