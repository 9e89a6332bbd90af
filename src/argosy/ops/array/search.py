"""Positions, order and choice of elements."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array.shape import axis_in, number
from argosy.ops.table import define, op
from argosy.ops.traits import Rows


@op(
    "argmax",
    rows=Rows.OTHER,
    layer="argmax",
    types=("arg_max(X, axis:flat, keepdims, dtype:dtype)",),
)
def argmax(x: Tensor, axis: int | None, keepdim: bool, dtype: torch.dtype) -> Tensor:
    out = torch.argmax(x, axis, keepdim)
    return out if dtype is torch.int64 else out.to(dtype)


@op(
    "argmin",
    rows=Rows.OTHER,
    layer="argmin",
    types=("arg_min(X, axis:flat, keepdims, dtype:dtype)",),
)
def argmin(x: Tensor, axis: int | None, keepdim: bool, dtype: torch.dtype) -> Tensor:
    out = torch.argmin(x, axis, keepdim)
    return out if dtype is torch.int64 else out.to(dtype)


# Paddle keeps equal elements in order whether or not a stable sort is asked for.


@op("argsort", layer="argsort:1", types=("argsort(X, axis, descending) -> Indices",))
def argsort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    return torch.argsort(x, dim=axis, descending=descending, stable=True)


@op("sort", layer="sort", types=("argsort(X, axis, descending) -> Out",))
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    return torch.sort(x, dim=axis, descending=descending, stable=True)[0]


@op(
    "topk",
    types=("top_k_v2(X, k/K, axis, largest, sorted) -> Out, Indices",),
    fluid="top_k(X, k/K, -, -, -) -> Out, Indices",
)
def topk(
    x: Tensor, k: Any, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    count = int(number(k))
    axis = axis_in(axis, max(x.ndim, 1), "topk")
    extent = x.shape[axis] if x.ndim else 1
    if not 1 <= count <= extent:
        raise UsageError(
            f"topk: k is {count}, but must be between 1 and {extent}, the extent of axis {axis}"
        )
    values, indices = torch.topk(x, count, axis, largest, sorted)
    return values, indices


@op("kthvalue", types=("kthvalue -> Out, Indices",))
def kthvalue(x: Tensor, k: int, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    values, indices = torch.kthvalue(x, k, axis, keepdim)
    return values, indices


@op("mode", types=("mode -> Out, Indices",))
def mode(x: Tensor, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent value (the smallest of several) and where it occurs last."""
    axis = axis_in(axis, max(x.ndim, 1), "mode")
    values = torch.mode(x.detach(), axis, keepdim=True)[0]
    if x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    steps = torch.arange(x.shape[axis], device=x.device).reshape([-1] + [1] * (x.ndim - 1 - axis))
    indices = torch.where(x == values, steps, -1).amax(axis, keepdim=True)
    # nan equals nothing: it occurs first where it does
    indices = torch.where(indices < 0, (x != x).to(torch.int8).argmax(axis, True), indices)
    values = torch.gather(x, axis, indices)
    return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))


@op("nonzero", rows=Rows.OTHER, types=("where_index(Condition)",))
def nonzero(x: Tensor) -> Tensor:
    if x.ndim == 0:
        raise UsageError("nonzero: the condition must have at least 1 dimension, but is 0-D")
    return torch.nonzero(x)


@op("where")
def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """Choose element-wise; 0-d tensors take part in promotion like any other."""
    if condition.dtype is not torch.bool:
        raise UsageError(
            f"where: condition must be a bool Tensor, but is {dtypes.name_of(condition.dtype)}"
        )
    if x.dtype is not y.dtype:
        common = _common(x.dtype, y.dtype)
        x, y = x.to(common), y.to(common)
    return torch.where(condition, x, y)


def _common(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    if a.is_complex or b.is_complex or (a.is_floating_point and b.is_floating_point):
        return torch.promote_types(a, b)
    raise DtypeError(
        "(InvalidType) where: type promotion only supports calculations between floating-point "
        "numbers and between "
        f"complex and real numbers, but x is {dtypes.name_of(a)} and y is {dtypes.name_of(b)}. "
        "Cast one of them with astype()."
    )


masked_select = define(
    "masked_select",
    torch.masked_select,
    ("x", "mask"),
    rows=Rows.OTHER,
    types=("masked_select(X, Mask) -> Y",),
)


@op(
    "searchsorted",
    types=("searchsorted(SortedSequence, Values, out_int32, right)",),
    rows=Rows.OTHER,
)
def searchsorted(
    sequence: Tensor, values: Tensor, out_int32: bool = False, right: bool = False
) -> Tensor:
    common = torch.promote_types(sequence.dtype, values.dtype)
    return torch.searchsorted(
        sequence.to(common).contiguous(),
        values.to(common).contiguous(),
        out_int32=out_int32,
        right=right,
    )
