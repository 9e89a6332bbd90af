"""Changing shape, order and type of a tensor's elements without computing on them.

Where Paddle returns a tensor on the same memory (reshape, transpose, slice, unbind and the like) so
do these; where it copies (split, expand, tile) these copy too, so that a later in-place change
reaches as far as it does there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import OutOfRange, RankError, UsageError
from argosy.ops import rearrangement
from argosy.ops.array.shape import axis_in, ints
from argosy.ops.table import define, get, op
from argosy.ops.traits import Precision, Record, Rows


@op(
    "reshape",
    precision=Precision.GRAY,
    is_reshape=True,
    types=("reshape2(X, shape/ShapeTensor/Shape) -> Out, XShape",),
)
def reshape(x: Tensor, shape: Any) -> Tensor:
    return x.reshape(resolve_shape(x, shape))


@op("view", types=("view_shape(/input, dims:list) -> out",), file_parts=rearrangement.view)
def view(x: Tensor, shape: Any) -> Tensor:
    return x.view(resolve_shape(x, shape))


@op("view_dtype", types=("view_dtype(/input, dtype:dtype) -> out",), precision=Precision.UNTOUCHED)
def view_dtype(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.view(dtype)


def resolve_shape(x: Tensor, shape: Any) -> list[int]:
    """The target of a reshape: 0 copies the extent at its position; in a tensor without elements it
    means 0.
    """
    sizes = ints(shape)
    if 0 not in sizes:
        return sizes
    if x.numel() == 0:
        if sizes.count(-1) == 1 and sizes.count(0) == list(x.shape).count(0):
            known = math.prod(n for n in sizes if n > 0)
            rest, left_over = divmod(math.prod(n for n in x.shape if n), known)
            if left_over:
                raise UsageError(
                    f"reshape: a tensor of shape {list(x.shape)} cannot take the shape {sizes}"
                )
            sizes[sizes.index(-1)] = rest
        return sizes
    for i, n in enumerate(sizes):
        if n == 0:
            if i >= x.ndim:
                raise UsageError(
                    f"reshape: entry {i} of the shape {sizes} is 0, which copies axis {i} of x, "
                    f"but x has shape {list(x.shape)}"
                )
            sizes[i] = x.shape[i]
    return sizes


@op(
    "transpose",
    precision=Precision.GRAY,
    rows=Rows.OTHER,
    layer="transpose",
    types=("transpose2(X, axis) -> Out, XShape",),
)
def transpose(x: Tensor, perm: Any) -> Tensor:
    """Reorder the axes; those that ``perm`` leaves out at its end stay where they are."""
    order = ints(perm)
    return x.permute(order if len(order) == x.ndim else order + list(range(len(order), x.ndim)))


@op("swapaxes", rows=Rows.OTHER, file_parts=rearrangement.ordered(rearrangement.swapped))
def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    return x.swapaxes(axis_in(axis0, x.ndim, "swapaxes"), axis_in(axis1, x.ndim, "swapaxes"))


@op("t", rows=Rows.OTHER, file_parts=rearrangement.ordered(lambda rank: range(rank)[::-1]))
def t(x: Tensor) -> Tensor:
    if x.ndim > 2:
        raise UsageError(
            f"t: x must have at most 2 dimensions, but its shape is {list(x.shape)}; use transpose"
        )
    return x.t()


@op(
    "reverse_axes",
    rows=Rows.OTHER,
    file_parts=rearrangement.ordered(lambda rank: range(rank)[::-1]),
)
def reverse_axes(x: Tensor) -> Tensor:
    return x.permute(list(range(x.ndim - 1, -1, -1)))


@op(
    "matrix_transpose",
    rows=Rows.OTHER,
    file_parts=rearrangement.ordered(lambda rank: rearrangement.swapped(rank, -2, -1)),
)
def matrix_transpose(x: Tensor) -> Tensor:
    if x.ndim < 2:
        raise UsageError(f"Tensor.ndim({x.ndim}) is required to be greater than or equal to 2.")
    return x.mT


@op(
    "flatten",
    is_reshape=True,
    layer="flatten",
    types=("flatten_contiguous_range(X, start_axis, stop_axis) -> Out, XShape",),
)
def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1) -> Tensor:
    rank = max(x.ndim, 1)
    start, stop = axis_in(start_axis, rank, "flatten"), axis_in(stop_axis, rank, "flatten")
    if start > stop:
        raise UsageError(f"flatten: stop_axis {stop_axis} comes before start_axis {start_axis}")
    return x.flatten(start, stop)


@op(
    "squeeze",
    is_reshape=True,
    layer="squeeze",
    types=("squeeze2(X, axes:list, -) -> Out, XShape",),
)
def squeeze(x: Tensor, axes: Any = None, assumed: Sequence[int] = ()) -> Tensor:
    """Drop the given axes of extent 1 (all of them by default); an axis of another extent stays.

    While shapes are inferred, the ``assumed`` ones count as of extent 1.
    """
    if assumed and x.is_meta:
        for axis in assumed:
            x = x.narrow(axis, 0, 1)
    if axes is None:
        return x.squeeze()
    wanted = {axis_in(axis, max(x.ndim, 1), "squeeze") for axis in ints(axes)}
    return x.squeeze(tuple(wanted)) if wanted else x.squeeze()


@op(
    "unsqueeze",
    is_reshape=True,
    types=("unsqueeze2(X, axes/AxesTensorList/AxesTensor:list) -> Out, XShape",),
)
def unsqueeze(x: Tensor, axes: Any) -> Tensor:
    """Insert axes of extent 1 one after the other, each counted in the result of the one before."""
    if axes.__class__ is int:
        return x.unsqueeze(axes)
    for axis in ints(axes):
        x = x.unsqueeze(axis)
    return x


@op("unflatten", file_parts=rearrangement.unflatten)
def unflatten(x: Tensor, axis: int, shape: Any) -> Tensor:
    if not -x.ndim <= axis < x.ndim:
        raise RankError(f"unflatten: axis {axis} must be in the range of [{-x.ndim}, {x.ndim})")
    axis %= x.ndim
    return reshape.fn(x, [*x.shape[:axis], *ints(shape), *x.shape[axis + 1 :]])


@op("moveaxis", rows=Rows.OTHER, file_parts=rearrangement.ordered(rearrangement.moved))
def moveaxis(x: Tensor, source: list[int], destination: list[int]) -> Tensor:
    if len(source) != len(destination):
        raise RankError(
            f"moveaxis: source {source} and destination {destination} must have the same number "
            "of axes"
        )
    for axis in (*source, *destination):
        if not -x.ndim <= axis < x.ndim:
            raise RankError(f"moveaxis: axis {axis} must be in the range of [{-x.ndim}, {x.ndim})")
    return torch.moveaxis(x, source, destination)


@op(
    "cast",
    precision=Precision.GRAY | Precision.UNTOUCHED,
    types=("cast(X, out_dtype:dtype, in_dtype=dtype(X))",),
)
def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    if x.dtype is dtype:
        return x.clone()
    if x.is_complex() and not dtype.is_complex:
        x = x.real
    return x.to(dtype)


@op("to_device", types=("memcpy",), precision=Precision.UNTOUCHED)
def to_device(x: Tensor, device: str) -> Tensor:
    return x.to(device)


@op("pin_memory", precision=Precision.UNTOUCHED)
def pin_memory(x: Tensor) -> Tensor:
    return x.pin_memory()


@op("expand", layer="expand", types=("expand_v2(X, shape/expand_shapes_tensor/Shape)",))
def expand(x: Tensor, shape: Any) -> Tensor:
    return torch.expand_copy(x, ints(shape))


@op("expand_as", layer="expand_as", types=("expand_as_v2(X, Y, target_shape=shape(Y))",))
def expand_as(x: Tensor, y: Tensor) -> Tensor:
    return torch.expand_copy(x, y.shape)


@op(
    "tile",
    types=("tile(X, repeat_times/repeat_times_tensor/RepeatTimes)",),
    fluid="expand(X, expand_times/expand_times_tensor/ExpandTimes)",
)
def tile(x: Tensor, repeat_times: Any) -> Tensor:
    return torch.tile(x, ints(repeat_times))


@op(
    "flip",
    rows=Rows.OTHER,
    types=("flip(X, axis)", "reverse(X, axis)"),
    fluid="reverse(X, axis)",
)
def flip(x: Tensor, axes: list[int]) -> Tensor:
    return torch.flip(x, axes)


@op("rot90", rows=Rows.OTHER)
def rot90(x: Tensor, k: int, axes: list[int]) -> Tensor:
    return torch.rot90(x, k, axes)


@op("roll", rows=Rows.OTHER, types=("roll(X, shifts, axis)",))
def roll(x: Tensor, shifts: Any, axes: list[int] | None = None) -> Tensor:
    by = ints(shifts)
    if axes is None:
        return torch.roll(x, by[0]) if x.ndim else x.clone()
    return torch.roll(x, by, axes)


def slices(
    x: Tensor, axes: list[int], starts: list[int], ends: list[int], steps: list[int]
) -> tuple[slice, ...]:
    """The index that takes ``starts:ends:steps`` of the given axes and all of the others."""
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis_in(axis, x.ndim, "slice")] = slice(start, end, step)
    return tuple(index)


@op(
    "slice",
    precision=Precision.GRAY,
    types=(
        "slice(Input, axes, starts/StartsTensorList/StartsTensor, "
        "ends/EndsTensorList/EndsTensor, decrease_axis:list)",
    ),
)
def slice_axes(
    x: Tensor, axes: list[int], starts: Any, ends: Any, decrease_axis: Sequence[int] = ()
) -> Tensor:
    """``starts:ends`` of the given axes; those in ``decrease_axis``, of which one element is left,
    are dropped.
    """
    first, last = ints(starts), ints(ends)
    if not len(axes) == len(first) == len(last):
        raise UsageError(
            f"slice: axes {axes}, starts {first} and ends {last} must have the same length"
        )
    out = x[slices(x, axes, first, last, [1] * len(axes))]
    for axis in sorted(decrease_axis, reverse=True):
        if out.shape[axis] != 1:
            raise OutOfRange(
                f"slice: index {first[axes.index(axis)]} is out of bounds for axis {axis} of "
                f"extent {x.shape[axis]}"
            )
        out = out.squeeze(axis)
    return out


@op(
    "strided_slice",
    types=(
        "strided_slice(Input, axes, starts/StartsTensorList/StartsTensor, "
        "ends/EndsTensorList/EndsTensor, strides/StridesTensorList/StridesTensor)",
    ),
)
def strided_slice(x: Tensor, axes: list[int], starts: Any, ends: Any, strides: Any) -> Tensor:
    first, last, steps = ints(starts), ints(ends), ints(strides)
    if 0 in steps:
        raise UsageError(f"strided_slice: strides {steps} must not be 0")
    reversed_axes = [axis for axis, step in zip(axes, steps, strict=True) if step < 0]
    if not reversed_axes:
        return x[slices(x, axes, first, last, steps)]
    for i, axis in enumerate(axes):
        if steps[i] < 0:
            extent = x.shape[axis]
            start, stop, step = slice(first[i], last[i], steps[i]).indices(extent)
            first[i], last[i], steps[i] = extent - 1 - start, extent - 1 - stop, -step
    return x.flip(reversed_axes)[slices(x, axes, first, last, steps)]


@op("crop", types=("crop_tensor",))
def crop(x: Tensor, shape: Any, offsets: Any) -> Tensor:
    """Cut a box of the given shape at ``offsets``; -1 reaches to the end of its axis."""
    sizes, corner = ints(shape), ints(offsets)
    box = []
    for axis, (extent, size, start) in enumerate(zip(x.shape, sizes, corner, strict=True)):
        size = extent - start if size == -1 else size
        if start < 0 or start + size > extent:
            raise UsageError(
                f"crop: axis {axis} has extent {extent}; offset {start} and size {size} do not "
                "fit in it"
            )
        box.append(slice(start, start + size))
    return x[tuple(box)].clone()


@op("unfold_axis", types=("tensor_unfold(/input, axis, size, step) -> out",))
def unfold_axis(x: Tensor, axis: int, size: int, step: int) -> Tensor:
    return x.unfold(axis, size, step)


@op("as_strided", types=("as_strided(/input, dims:list, stride:list, offset) -> out",))
def as_strided(x: Tensor, shape: list[int], stride: list[int], offset_bytes: int = 0) -> Tensor:
    return torch.as_strided(x, shape, stride, x.storage_offset() + offset_bytes // x.itemsize)


@op("as_complex")
def as_complex(x: Tensor) -> Tensor:
    if x.ndim == 0 or x.shape[-1] != 2:
        raise UsageError(
            f"as_complex: the last axis of x must have extent 2, but x has shape {list(x.shape)}"
        )
    return torch.view_as_complex(x)


as_real = define("as_real", torch.view_as_real, ("x",))
real = define("real", torch.real, ("x",))
imag = define("imag", torch.imag, ("x",))


def _shape_parts(record: Record, x: Any) -> Any:
    """Paddle's operator counts in 32 bits."""
    return record(cast, record(get("fluid_shape"), x), torch.int64)


@op("shape", rows=Rows.OTHER, types=("shape(Input)",), file_parts=_shape_parts)
def shape(x: Tensor) -> Tensor:
    return torch.tensor(list(x.shape), dtype=torch.int64)


@op("rank", precision=Precision.GRAY)
def rank(x: Tensor) -> Tensor:
    return torch.tensor(x.ndim, dtype=torch.int32)


@op("numel", layer="numel", types=("size(Input)",))
def numel(x: Tensor) -> Tensor:
    return torch.tensor(x.numel(), dtype=torch.int64)


@op("shard_index")
def shard_index(
    x: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int
) -> Tensor:
    """Global ids to ids inside one of ``nshards`` equal shards; ids of other shards become
    ``ignore_value``.
    """
    if x.device.type == "cpu" and bool(((x < 0) | (x >= index_num)).any()):
        raise UsageError(f"shard_index: ids must lie in [0, {index_num})")
    size = (index_num + nshards - 1) // nshards
    inside = torch.div(x, size, rounding_mode="floor") == shard_id
    return torch.where(inside, x % size, torch.full_like(x, ignore_value))
