"""Functions that read and write the elements an index names; ``manipulation`` exports them."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import creation as creation_ops
from argosy.ops.array import gathering as ops
from argosy.tensor._core.arguments import store
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._shapes import int_attr, shape_attr

__all__ = [
    "diagonal_scatter", "gather", "gather_nd", "index_add", "index_add_", "index_fill",
    "index_fill_", "index_put",
    "index_put_", "index_sample", "index_select", "masked_fill", "masked_fill_", "masked_scatter",
    "masked_scatter_",
    "put_along_axis", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_nd",
    "scatter_nd_add",
    "scatter_reduce", "select_scatter", "slice_scatter", "take", "take_along_axis",
    "take_along_dim",
]  # fmt: skip


def gather(x: Any, index: Any, axis: Any = None, name: str | None = None, out: Any = None) -> Any:
    """Take the slices of an axis (the first by default) that a vector of indices names.

    Example:
        >>> import paddle
        >>> paddle.gather(paddle.to_tensor([10, 20, 30]), paddle.to_tensor([2, 0, 2])).tolist()
        [30, 10, 30]
    """
    result = apply(ops.gather, x, index, 0 if axis is None else int_attr(axis, "gather"))
    return result if out is None else store(out, result, "gather")


def gather_nd(x: Any, index: Any, name: str | None = None) -> Any:
    """Take the elements, or slices, at the positions that the last axis of ``index`` spells out."""
    return apply(ops.gather_nd, x, index)


def index_select(
    x: Any, index: Any, axis: int = 0, name: str | None = None, *, out: Any = None
) -> Any:
    """Take the slices of an axis that a vector of indices names."""
    return store(out, apply(ops.index_select, x, index, axis), "index_select")


def index_sample(x: Any, index: Any) -> Any:
    """Take from each row of a matrix the columns that the same row of ``index`` names."""
    return apply(ops.index_sample, x, index)


def take(x: Any, index: Any, mode: str = "raise", name: str | None = None) -> Any:
    """Take elements of the flattened tensor; ``mode`` says what an index outside it does: raise,
    wrap or clip.
    """
    if mode not in ("raise", "wrap", "clip"):
        raise UsageError(f"take: 'mode' should be 'raise', 'wrap' or 'clip', but received {mode!r}")
    if not isinstance(index, Tensor) or index.raw.dtype not in (torch.int32, torch.int64):
        raise DtypeError(
            "take: index must be an int32 or int64 Tensor, but received "
            f"{getattr(index, 'dtype', index)}"
        )
    return apply(ops.take, x, index, mode)


def take_along_axis(
    arr: Any, indices: Any, axis: int, broadcast: bool = True, *, out: Any = None
) -> Any:
    """Take along one axis the elements that ``indices`` names, one for each of its entries.

    With ``broadcast`` the indices are first expanded to the shape of ``arr`` on the other axes.
    """
    return store(out, apply(ops.take_along_axis, arr, indices, axis, broadcast), "take_along_axis")


take_along_dim = take_along_axis


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Any:
    """Copy ``arr`` with ``values`` put, added, multiplied, averaged or compared in at the named
    places of one axis.
    """
    return apply(ops.put_along_axis, arr, indices, values, axis, reduce, include_self, broadcast)


put_along_axis_ = make_inplace(put_along_axis)


def scatter(
    x: Any,
    index: Any,
    updates: Any,
    overwrite: bool = True,
    name: str | None = None,
    out: Any = None,
) -> Any:
    """Copy ``x`` with the rows that ``index`` names replaced by ``updates``.

    Of several updates for one row the last counts; with ``overwrite=False`` they add up, starting
    from zero.
    """
    return store(out, apply(ops.scatter, x, index, updates, overwrite), "scatter")


scatter_ = make_inplace(scatter)


def scatter_nd_add(x: Any, index: Any, updates: Any, name: str | None = None) -> Any:
    """Copy ``x`` with ``updates`` added at the positions that the last axis of ``index`` spells
    out.
    """
    return apply(ops.scatter_nd_add, x, index, updates)


def scatter_nd(index: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
    """Add ``updates`` into zeros of the given shape at the positions that the last axis of
    ``index`` spells out.
    """
    return apply(ops.scatter_nd, index, updates, shape_attr(shape, "scatter_nd"))


def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Combine ``src`` into a copy of ``input`` along ``dim`` by sum, prod, mean, amin or amax."""
    return apply(ops.scatter_along, input, dim, index, src, reduce, include_self)


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Add ``src`` into a copy of ``input`` along ``dim`` at the places that ``index`` names."""
    return apply(ops.scatter_along, input, dim, index, src, "sum", True)


scatter_add_ = make_inplace(scatter_add)


def index_add(
    x: Any,
    index: Any,
    axis: int,
    value: Any,
    alpha: float = 1,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Copy ``x`` with the slices of ``value``, times ``alpha``, added to those that ``index``
    names.
    """
    return store(out, apply(ops.index_add, x, index, axis, value, alpha), "index_add")


index_add_ = make_inplace(index_add)


def index_fill(x: Any, index: Any, axis: int, value: Any, name: str | None = None) -> Any:
    """Copy ``x`` with the slices that ``index`` names set to ``value``."""
    return apply(ops.index_fill, x, index, axis, value)


index_fill_ = make_inplace(index_fill)


def index_put(
    x: Any, indices: Any, value: Any, accumulate: bool = False, name: str | None = None
) -> Any:
    """Copy ``x`` with ``value`` put, or added, where a tuple of index tensors points."""
    return apply(ops.index_put, x, list(indices), value, accumulate)


index_put_ = make_inplace(index_put)


def masked_fill(x: Any, mask: Any, value: Any, name: str | None = None) -> Any:
    """Copy ``x`` with ``value`` where the mask is true, with broadcasting."""
    return apply(ops.masked_fill, x, mask, value)


masked_fill_ = make_inplace(masked_fill)


def masked_scatter(x: Any, mask: Any, value: Any, name: str | None = None) -> Any:
    """Copy ``x`` with the elements where the mask is true taken from ``value``, one after the
    other.
    """
    return apply(ops.masked_scatter, x, mask, value)


masked_scatter_ = make_inplace(masked_scatter)


def diagonal_scatter(
    x: Any, y: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> Any:
    """Copy ``x`` with a diagonal of the plane of two axes replaced by ``y``."""
    return apply(ops.diagonal_scatter, x, y, offset, axis1, axis2)


def fill_diagonal_tensor(
    x: Any, y: Any, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Any:
    """Copy ``x`` with a diagonal of the plane of two axes replaced by ``y``."""
    return apply(ops.diagonal_scatter, x, y, offset, dim1, dim2)


fill_diagonal_tensor_ = make_inplace(fill_diagonal_tensor)


def select_scatter(x: Any, values: Any, axis: int, index: int, name: str | None = None) -> Any:
    """Copy ``x`` with one slice of an axis replaced by ``values``."""
    return apply(ops.select_scatter, x, values, axis, index)


def slice_scatter(
    x: Any, value: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Any:
    """Copy ``x`` with the slice that axes, starts, ends and strides describe replaced by
    ``value``.
    """
    return apply(ops.slice_scatter, x, value, list(axes), list(starts), list(ends), list(strides))


def _fill_diagonal(
    x: Any, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None
) -> Any:
    return apply(ops.fill_diagonal, x, value, offset, wrap)


def _fill(x: Any, value: Any) -> Any:
    return apply(creation_ops.fill, x, value)


def _zero(x: Any) -> Any:
    return apply(creation_ops.fill, x, 0)


fill_diagonal_ = make_inplace(_fill_diagonal, "fill_diagonal_")
fill_ = make_inplace(_fill, "fill_")
zero_ = make_inplace(_zero, "zero_")
for _method, _doc in (
    (fill_diagonal_, "Write ``value`` along the main diagonal, shifted by ``offset`` columns."),
    (fill_, "Set every element to ``value``."),
    (zero_, "Set every element to zero."),
):
    _method.__doc__ = _doc
