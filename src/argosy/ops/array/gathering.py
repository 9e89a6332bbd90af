"""Reading and writing the elements that an index tensor names.

Negative indices count from the end everywhere. Duplicates accumulate their gradients; where writes
collide the last one wins, as in Paddle.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, OutOfRange, RankError, UsageError
from argosy.ops import rearrangement
from argosy.ops.array.manipulation import slices
from argosy.ops.array.shape import axis_in, ints, require_equal_dtypes
from argosy.ops.table import define, op
from argosy.ops.traits import Precision, Rows


def _from_front(index: Tensor, extent: int) -> Tensor:
    """Indices without negative ones."""
    return torch.where(index < 0, index + extent, index)


def _as_ids(index: Tensor, call: str) -> Tensor:
    """A 1-D index from one of shape [n] or [n, 1]."""
    if index.dtype not in (torch.int32, torch.int64):
        raise DtypeError(
            f"{call}: the index must be int32 or int64, but is {dtypes.name_of(index.dtype)}"
        )
    if index.ndim > 2 or (index.ndim == 2 and index.shape[1] != 1):
        raise UsageError(
            f"{call}: the index must have shape [n] or [n, 1], but has {list(index.shape)}"
        )
    return index if index.ndim == 1 else index.reshape(-1)


def _select(x: Tensor, axis: int, index: Tensor) -> Tensor:
    if x.device.type != "cpu":
        return torch.index_select(x, axis, _from_front(index, x.shape[axis]))
    # Few indices are negative, and torch refuses them on the CPU before it reads anything: try
    # first.
    try:
        return torch.index_select(x, axis, index)
    except (IndexError, RuntimeError):
        pass
    try:
        return torch.index_select(x, axis, _from_front(index, x.shape[axis]))
    except (IndexError, RuntimeError) as error:
        raise OutOfRange(
            f"an index lies outside axis {axis} of a tensor of shape {list(x.shape)}"
        ) from error


@op(
    "gather",
    precision=Precision.GRAY,
    rows=Rows.OTHER,
    types=("gather(X, Index, axis/Axis, overwrite~True)",),
    file_parts=rearrangement.from_front("gather"),
)
def gather(x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    axis = axis_in(axis, x.ndim, "gather")
    out = _select(x, axis, _as_ids(index, "gather"))
    return out if index.ndim else out.squeeze(axis)


@op("index_select", rows=Rows.OTHER, types=("index_select(X, Index, dim)",))
def index_select(x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    if index.ndim == 0:
        raise UsageError("index_select: the index must have shape [n] or [n, 1], but is 0-D")
    return _select(x, axis_in(axis, x.ndim, "index_select"), _as_ids(index, "index_select"))


@op("gather_nd", rows=Rows.OTHER)
def gather_nd(x: Tensor, index: Tensor) -> Tensor:
    """Read the elements (or slices) at the positions along the last axis of ``index``."""
    if index.ndim and index.shape[-1] == 0:
        return torch.expand_copy(x, [*index.shape[:-1], *x.shape])
    return x[_positions(x, index, "gather_nd")]


def _positions(x: Tensor, index: Tensor, call: str) -> tuple[Tensor, ...]:
    if index.ndim == 0 or index.shape[-1] > x.ndim:
        raise UsageError(
            f"{call}: the last axis of the index must have extent 1 to {x.ndim}, the rank of x, "
            f"but the index has shape {list(index.shape)}"
        )
    return tuple(index.unbind(-1))


@op("index_sample", types=("index_sample(X, Index)",))
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    if x.ndim != 2 or index.ndim != 2 or x.shape[0] != index.shape[0]:
        raise UsageError(
            "index_sample: x and index must be 2-D with the same number of rows, "
            f"but have shapes {list(x.shape)} and {list(index.shape)}"
        )
    return torch.gather(x, 1, index.long())


@op("take", rows=Rows.OTHER, file_parts=rearrangement.take)
def take(x: Tensor, index: Tensor, mode: str = "raise") -> Tensor:
    size = x.numel()
    index = index.long()
    if mode == "wrap":
        index = index % size
    elif mode == "clip":
        index = index.clamp(0, size - 1)
    return torch.take(x, index)


def _spread(index: Tensor, x: Tensor, axis: int) -> Tensor:
    """Broadcast an index against all axes of ``x`` but one."""
    target = list(x.shape)
    target[axis] = index.shape[axis]
    return index.expand(target)


def _along(x: Tensor, index: Tensor, axis: int, broadcast: bool, call: str) -> tuple[Tensor, int]:
    if index.ndim != x.ndim:
        raise UsageError(
            f"{call}: indices and arr must have the same number of dimensions, "
            f"but have shapes {list(index.shape)} and {list(x.shape)}"
        )
    axis = axis_in(axis, x.ndim, call) if x.ndim else 0
    if broadcast and x.ndim:
        index = _spread(index, x, axis)
    return _from_front(index.long(), x.shape[axis] if x.ndim else 1), axis


@op(
    "take_along_axis",
    types=("take_along_axis(Input, Index, @Axis, -False) -> Result",),
    rows=Rows.OTHER,
    file_parts=rearrangement.take_along_axis,
)
def take_along_axis(x: Tensor, index: Tensor, axis: int, broadcast: bool = True) -> Tensor:
    index, axis = _along(x, index, axis, broadcast, "take_along_axis")
    return torch.gather(x, axis, index)


_REDUCTIONS = {
    "add": "sum",
    "mul": "prod",
    "multiply": "prod",
    "mean": "mean",
    "amin": "amin",
    "amax": "amax",
}


@op(
    "put_along_axis",
    types=("put_along_axis(Input, Index, Value, @Axis, @Reduce, @Include_self, -False) -> Result",),
    file_parts=rearrangement.put_along_axis,
)
def put_along_axis(
    x: Tensor,
    index: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """Write or combine ``values`` into ``x`` at the places that ``index`` names along ``axis``."""
    index, axis = _along(x, index, axis, broadcast, "put_along_axis")
    if not isinstance(values, Tensor):
        values = torch.full((), values, dtype=x.dtype, device=x.device)
    values = values.to(x.dtype)
    if broadcast or values.ndim == 0:
        values = values.expand(index.shape)
    if reduce == "assign":
        return torch.scatter(x, axis, index, _without_overwritten(x, index, values, axis))
    if reduce not in _REDUCTIONS:
        known = ", ".join(("assign", *_REDUCTIONS))
        raise UsageError(f"put_along_axis: reduce must be one of {known}, but received {reduce!r}")
    return torch.scatter_reduce(
        x, axis, index, values, _REDUCTIONS[reduce], include_self=include_self
    )


def _without_overwritten(x: Tensor, index: Tensor, values: Tensor, axis: int) -> Tensor:
    """Cut values that a later write covers from the graph: no gradient reaches them."""
    if not (values.requires_grad and torch.is_grad_enabled()):
        return values
    order = torch.arange(index.numel(), device=x.device).reshape(index.shape)
    last = torch.zeros_like(x, dtype=torch.int64).scatter(axis, index, order).gather(axis, index)
    return torch.where(last == order, values, values.detach())


@op("scatter", precision=Precision.EXTRA_BLACK, types=("scatter(X, Ids, Updates, overwrite)",))
def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True) -> Tensor:
    """Replace rows of ``x``; without ``overwrite`` the rows start at zero and duplicates add up."""
    require_equal_dtypes([x, updates], "scatter")
    ids = _from_front(_as_ids(index, "scatter").long(), x.shape[0])
    if index.ndim == 0:
        updates = updates.unsqueeze(0)
    updates = updates[: ids.shape[0]]
    if overwrite:
        return torch.index_copy(x, 0, ids, updates)
    return torch.index_fill(x, 0, ids, 0).index_add(0, ids, updates)


@op("scatter_nd_add")
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    return x.index_put(_positions(x, index, "scatter_nd_add"), updates, accumulate=True)


@op("scatter_nd")
def scatter_nd(index: Tensor, updates: Tensor, shape: Any) -> Tensor:
    return scatter_nd_add.fn(updates.new_zeros(ints(shape)), index, updates)


@op("index_add", types=("index_add(X, Index, axis, AddValue, -1.0)",))
def index_add(x: Tensor, index: Tensor, axis: int, value: Tensor, alpha: float = 1) -> Tensor:
    axis = axis_in(axis, x.ndim, "index_add")
    return torch.index_add(x, axis, _from_front(index, x.shape[axis]), value, alpha=alpha)


@op("index_fill")
def index_fill(x: Tensor, index: Tensor, axis: int, value: Any) -> Tensor:
    axis = axis_in(axis, x.ndim, "index_fill")
    if isinstance(value, Tensor):
        value = value.to(x.dtype)
    return torch.index_fill(x, axis, _from_front(index.long(), x.shape[axis]), value)


@op("index_put", types=("index_put(/x, /indices, /value, accumulate) -> out",))
def index_put(x: Tensor, indices: list[Tensor], value: Tensor, accumulate: bool = False) -> Tensor:
    require_equal_dtypes([x, value], "index_put")
    return torch.index_put(x, tuple(indices), value, accumulate)


@op("masked_fill", file_parts=rearrangement.masked_fill)
def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    mask = mask.bool()
    if isinstance(value, Tensor):
        require_equal_dtypes([x, value], "masked_fill")
        return torch.where(mask, value, x)
    if not (x.is_floating_point() or x.is_complex()):
        value = int(value)
    return torch.masked_fill(x, mask, value)


@op("masked_scatter")
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    require_equal_dtypes([x, value], "masked_scatter")
    mask = mask.expand(x.shape)
    if x.device.type == "cpu" and int(mask.sum()) > value.numel():
        raise RankError(
            f"masked_scatter: the mask is true {int(mask.sum())} times, but value has "
            f"{value.numel()} elements"
        )
    return torch.masked_scatter(x, mask, value)


diagonal_scatter = define(
    "diagonal_scatter", torch.diagonal_scatter, ("x", "y", "offset", "axis1", "axis2")
)


@op("select_scatter")
def select_scatter(x: Tensor, values: Tensor, axis: int, index: int) -> Tensor:
    return torch.select_scatter(x, values, axis, index)


@op("slice_scatter")
def slice_scatter(
    x: Tensor,
    value: Tensor,
    axes: list[int],
    starts: list[int],
    ends: list[int],
    strides: list[int],
) -> Tensor:
    out = x.clone()
    out[slices(x, axes, starts, ends, strides)] = value
    return out


@op("fill_diagonal")
def fill_diagonal(x: Tensor, value: float, offset: int = 0, wrap: bool = False) -> Tensor:
    """Write ``value`` along the main diagonal, shifted by ``offset`` columns; ``wrap`` goes on
    below a tall matrix.
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise UsageError(
            "fill_diagonal_: x must be a matrix or have equal extents, but its shape is "
            f"{list(x.shape)}"
        )
    columns = x.shape[-1]
    stride = sum(x.shape[-1] ** k for k in range(x.ndim))
    size = x.numel() if wrap or x.ndim > 2 else min(x.numel(), columns * columns)
    places = [i + offset for i in range(0, size, stride) if 0 <= i % columns + offset < columns]
    out = x.clone(memory_format=torch.contiguous_format)
    out.view(-1)[torch.tensor(places, dtype=torch.int64, device=x.device)] = value
    return out


@op("scatter_along", types=("scatter_reduce",))
def scatter_along(
    x: Tensor, axis: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Combine ``src`` into ``x`` along ``axis``, element by element of ``index``, without
    broadcasting.
    """
    return torch.scatter_reduce(x, axis, index.long(), src, reduce, include_self=include_self)
