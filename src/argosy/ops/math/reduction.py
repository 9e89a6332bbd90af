"""Reductions over some or all axes. ``axis`` is None (all axes), an int, or a list of ints without
duplicates.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops import composition, sketch
from argosy.ops.table import op
from argosy.ops.traits import Precision

Axis = int | list[int] | None

# torch widens these to int64 in sums; Paddle widens only bool and int32.
_KEEP_IN_SUM = frozenset((torch.uint8, torch.int8, torch.int16))


def axes_of(x: Tensor, axis: Axis) -> tuple[int, ...]:
    """The axes that ``axis`` selects, as non-negative numbers in ascending order."""
    if axis is None or axis == []:
        return tuple(range(x.ndim))
    rank = x.ndim or 1
    wanted = [axis] if isinstance(axis, int) else axis
    for a in wanted:
        if not -rank <= a < rank:
            raise UsageError(
                f"axis {a} is outside [-{rank}, {rank}) of a tensor of shape {list(x.shape)}"
            )
    found = sorted({a % rank for a in wanted})
    if len(found) != len(wanted):
        raise UsageError(f"axis {axis} names one axis of a tensor of shape {list(x.shape)} twice")
    return tuple(found) if x.ndim else ()


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[a] for a in axes)


def _group(x: Tensor, axis: Axis) -> tuple[Tensor, list[int]]:
    """Move the reduced axes to one last axis; also the shape that keeps them with extent 1."""
    axes = axes_of(x, axis)
    kept = [n for a, n in enumerate(x.shape) if a not in axes]
    with_ones = [1 if a in axes else n for a, n in enumerate(x.shape)]
    order = [a for a in range(x.ndim) if a not in axes] + list(axes)
    return x.permute(order).reshape(kept + [_count(x, axes)]), with_ones


@op(
    "sum",
    precision=Precision.BLACK,
    layer="sum",
    types=("reduce_sum(X, dim:axes, out_dtype:dtype, keep_dim)",),
    sketch=sketch.total,
)
def sum(
    x: Tensor, axis: Axis = None, dtype: torch.dtype | None = None, keepdim: bool = False
) -> Tensor:
    if dtype is None and x.dtype in _KEEP_IN_SUM:
        dtype = x.dtype
    if axis is None and not keepdim:
        return torch.sum(x, dtype=dtype)
    return torch.sum(x, axis, keepdim, dtype=dtype)


@op(
    "mean",
    layer="mean",
    precision={"mean": Precision.BLACK, "reduce_mean": Precision.BLACK},
    types=("reduce_mean(X, dim:axes, keep_dim, -)",),
    sketch=sketch.average,
)
def mean(
    x: Tensor, axis: Axis = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    """Integers give an integer, truncated towards zero; bool gives bool."""
    if dtype is not None:
        x = x.to(dtype)
    if x.is_floating_point() or x.is_complex():
        return torch.mean(x) if axis is None and not keepdim else torch.mean(x, axis, keepdim)
    if x.dtype is torch.bool:
        return torch.any(x) if axis is None and not keepdim else torch.any(x, axis, keepdim)
    total = torch.sum(x, axis, keepdim)
    return torch.div(total, _count(x, axes_of(x, axis)), rounding_mode="trunc").to(x.dtype)


@op(
    "max",
    layer="max",
    types=(
        "reduce_max(X, dim:axes, keep_dim)",
        "amax",
    ),
)
def max(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    """Equal maxima share the gradient."""
    return torch.amax(x, () if axis is None else axis, keepdim)


@op(
    "min",
    layer="min",
    types=(
        "reduce_min(X, dim:axes, keep_dim)",
        "amin",
    ),
)
def min(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    """Equal minima share the gradient."""
    return torch.amin(x, () if axis is None else axis, keepdim)


@op("prod", precision=Precision.BLACK, types=("reduce_prod(X, dim:axes, keep_dim, -)",))
def prod(
    x: Tensor, axis: Axis = None, keepdim: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    if dtype is None:
        dtype = x.dtype
    for a in reversed(axes_of(x, axis)):
        x = torch.prod(x, a, keepdim, dtype=dtype)
    return x.to(dtype)


@op("all", layer="all", types=("reduce_all(X, dim:axes, keep_dim)",))
def all(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    return torch.all(x.to(torch.bool), axis, keepdim)


@op("any", layer="any", types=("reduce_any(X, dim:axes, keep_dim)",))
def any(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    return torch.any(x.to(torch.bool), axis, keepdim)


@op("count_nonzero", file_parts=composition.count_nonzero)
def count_nonzero(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    return torch.sum(x.to(torch.bool), axis, keepdim)


@op("logsumexp", types=("logsumexp(X, axis:axes, keepdim)",))
def logsumexp(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    if not x.is_floating_point():
        x = x.to(torch.float32)
    return torch.logsumexp(x, axes_of(x, axis), keepdim)


@op("var", file_parts=composition.var)
def var(x: Tensor, axis: Axis = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Mean squared deviation with divisor ``n - correction``; integers are computed in truncated
    integers.
    """
    if x.is_meta and not x.is_floating_point():  # only where programs are recorded
        raise DtypeError(f"var: x must be of a floating-point dtype in a program, not {x.dtype}")
    axes = axes_of(x, axis)
    divisor = _count(x, axes) - correction
    if x.is_floating_point() and divisor > 0:
        return (
            torch.var(x, axes, correction=correction, keepdim=keepdim)
            if axes
            else torch.zeros_like(x)
        )
    deviations = torch.sum(torch.square(x - mean.fn(x, axis, True)), axis, keepdim)
    if x.is_floating_point():
        return deviations / torch.full_like(deviations, 0.0)
    return torch.div(deviations, divisor, rounding_mode="trunc").to(x.dtype)


@op("std", file_parts=composition.std)
def std(x: Tensor, axis: Axis = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    spread = var.fn(x, axis, correction, keepdim)
    return torch.sqrt(spread if spread.is_floating_point() else spread.to(torch.float32))


@op("nansum", file_parts=composition.nansum)
def nansum(
    x: Tensor, axis: Axis = None, dtype: torch.dtype | None = None, keepdim: bool = False
) -> Tensor:
    total: Tensor = sum.fn(
        torch.where(torch.isnan(x), torch.zeros_like(x), x), axis, dtype, keepdim
    )
    return total


@op("nanmean")
def nanmean(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.float32)
    present = torch.logical_not(torch.isnan(x))
    total: Tensor = nansum.fn(x, axis, None, keepdim)
    return total / torch.sum(present, axis, keepdim)


@op("median")
def median(
    x: Tensor, axis: Axis = None, keepdim: bool = False, mode: str = "avg", ignore_nan: bool = False
) -> Any:
    """The pair (median, its index along the reduced axis).

    ``mode`` says what an even number of values gives: the mean of the middle two, or the lower one.
    Unless the two differ, every element equal to the median shares the gradient.
    """
    if mode == "avg" and not ignore_nan and x.dtype is not torch.float64:
        x = x.to(torch.float32)
    rows, with_ones = _group(x, axis)
    n = rows.shape[-1]
    shape = with_ones if keepdim else rows.shape[:-1]
    if n == 0:
        empty = torch.full(rows.shape[:-1], math.nan).to(x.dtype).reshape(shape)
        return empty, torch.zeros(shape, dtype=torch.int64)
    ordered, order = torch.sort(rows, dim=-1, stable=True)
    missing = torch.isnan(rows)
    num_valid = n - torch.sum(missing, -1, keepdim=True)
    if not ignore_nan:
        # NaNs sort last, so a row that has one answers with its last element.
        num_valid = torch.where(num_valid < n, torch.full_like(num_valid, 2 * n), num_valid)
    low = torch.clamp((num_valid - 1) // 2, 0, n - 1)
    high = torch.clamp(num_valid // 2, 0, n - 1) if mode == "avg" else low
    below, above = torch.gather(ordered, -1, low), torch.gather(ordered, -1, high)
    equal = (rows == below) | (missing & torch.isnan(below))
    shared = torch.sum(torch.where(equal, rows, 0), -1, keepdim=True) / torch.sum(
        equal, -1, keepdim=True
    )
    value = torch.where(below == above, shared.to(x.dtype), _halfway(below, above))
    return value.reshape(shape), torch.gather(order, -1, low).reshape(shape)


def _halfway(below: Tensor, above: Tensor) -> Tensor:
    if below.is_floating_point():
        return (below + above) / 2
    return torch.div(below + above, 2, rounding_mode="trunc")


@op("quantile")
def quantile(
    x: Tensor,
    q: Any,
    axis: Axis = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    ignore_nan: bool = False,
) -> Tensor:
    """Quantiles ``q``, a list of numbers or a 1-d tensor; several are stacked along a new first
    axis.
    """
    if not x.is_floating_point():
        raise DtypeError(
            "quantile: x must be floating, an integer tensor has to be cast first with "
            "astype('float32')"
        )
    rows, with_ones = _group(x, axis)
    n = rows.shape[-1]
    ordered = torch.sort(rows, dim=-1).values
    missing = torch.isnan(rows)
    num_valid = n - torch.sum(missing, -1, keepdim=True)
    where = torch.as_tensor(q, dtype=x.dtype, device=x.device).reshape(-1) * (num_valid - 1).to(
        x.dtype
    )
    if not ignore_nan:
        where = torch.where(torch.any(missing, -1, keepdim=True), float(n - 1), where)
    # One column per quantile becomes one leading slice per quantile.
    values = torch.movedim(_interpolate(ordered, torch.clamp(where, min=0), interpolation), -1, 0)
    values = values.reshape([values.shape[0], *(with_ones if keepdim else values.shape[1:])])
    return values[0] if values.shape[0] == 1 else values


def _interpolate(ordered: Tensor, where: Tensor, interpolation: str) -> Tensor:
    if interpolation == "nearest":
        return torch.gather(ordered, -1, torch.round(where).long())
    floor = torch.floor(where)
    below = torch.gather(ordered, -1, floor.long())
    if interpolation == "lower":
        return below
    above = torch.gather(ordered, -1, torch.ceil(where).long())
    if interpolation == "higher":
        return above
    return (
        (below + above) / 2
        if interpolation == "midpoint"
        else torch.lerp(below, above, where - floor)
    )


@op("reduce_as")
def reduce_as(x: Tensor, target: Tensor) -> Tensor:
    """Sum ``x`` over the axes along which ``target`` would be broadcast to it."""
    extra = x.ndim - target.ndim
    if extra < 0 or builtins.any(
        t not in (1, n) for t, n in zip(target.shape, x.shape[extra:], strict=True)
    ):
        raise UsageError(
            f"reduce_as: a target of shape {list(target.shape)} does not broadcast to "
            f"{list(x.shape)}"
        )
    stretched = [
        extra + a for a, n in enumerate(target.shape) if n == 1 and x.shape[extra + a] != 1
    ]
    axes = [*range(extra), *stretched]
    return (
        x.sum(axes, dtype=x.dtype if x.dtype in _KEEP_IN_SUM else None).reshape(target.shape)
        if axes
        else x
    )
