"""Functions that change the shape, order or type of a tensor's elements; ``manipulation`` exports
them.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import DType, to_torch
from argosy.foundation.errors import UsageError
from argosy.ops.array import manipulation as ops
from argosy.tensor._core.face import unary
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._shapes import int_attr, packs_ints, shape_attr

__all__ = [
    "as_complex", "as_real", "as_strided", "broadcast_to", "cast", "cast_", "crop", "expand",
    "expand_as", "flatten",
    "flatten_", "flip", "matrix_transpose", "moveaxis", "narrow", "permute", "ravel", "reshape",
    "reshape_", "reverse", "roll",
    "rot90", "shard_index", "slice", "squeeze", "squeeze_", "strided_slice", "swapaxes",
    "swapdims", "t", "t_", "tile",
    "transpose", "transpose_", "unflatten", "unfold", "unsqueeze", "unsqueeze_", "view", "view_as",
    "view_as_complex",
    "view_as_real",
]  # fmt: skip


@packs_ints
def reshape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Give the elements another shape, on the same memory where the layout allows.

    One extent may be -1 (inferred); 0 copies the extent of ``x`` at its position.

    Example:
        >>> import paddle
        >>> paddle.reshape(paddle.arange(6), [0, -1]).shape
        [6, 1]
    """
    return apply(ops.reshape, x, shape_attr(shape, "reshape"))


reshape_ = make_inplace(reshape, is_view=True)


@packs_ints
def view(x: Any, shape_or_dtype: Any, name: str | None = None) -> Any:
    """See the same memory with another shape, or as another dtype; an error where that needs a
    copy.
    """
    if isinstance(shape_or_dtype, (str, DType, type)):
        return apply(ops.view_dtype, x, to_torch(shape_or_dtype))
    return apply(ops.view, x, shape_attr(shape_or_dtype, "view"))


def view_as(x: Any, other: Any, name: str | None = None) -> Any:
    """See the same memory with the shape of ``other``."""
    return apply(ops.view, x, other.shape)


def transpose(x: Any, perm: Any, name: Any = None) -> Any:
    """Reorder the axes: axis ``i`` of the result is axis ``perm[i]`` of ``x``. ``transpose(x, 0,
    1)`` swaps two axes.
    """
    if type(perm) is int:
        return apply(ops.swapaxes, x, perm, name)
    return apply(ops.transpose, x, shape_attr(perm, "transpose"))


transpose_ = make_inplace(transpose, is_view=True)


@packs_ints
def permute(input: Any, dims: Any) -> Any:
    """Reorder the axes, as ``transpose`` does."""
    return apply(ops.transpose, input, shape_attr(dims, "permute"))


def swapaxes(x: Any, axis0: int, axis1: int, name: str | None = None) -> Any:
    """Exchange two axes."""
    return apply(ops.swapaxes, x, axis0, axis1)


swapdims = swapaxes
matrix_transpose = unary(ops.matrix_transpose, "Exchange the last two axes.")


def t(input: Any, name: str | None = None) -> Any:
    """Transpose a matrix; vectors and scalars come back as they are."""
    return apply(ops.t, input)


t_ = make_inplace(t, is_view=True)
T = property(
    lambda self: apply(ops.reverse_axes, self), doc="The tensor with its axes in reverse order."
)
mT = property(
    lambda self: apply(ops.matrix_transpose, self),
    doc="The tensor with its last two axes exchanged.",
)


def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Any:
    """Merge the axes from ``start_axis`` to ``stop_axis`` (included) into one."""
    return apply(ops.flatten, x, start_axis, stop_axis)


flatten_ = make_inplace(flatten, is_view=True)


def ravel(input: Any) -> Any:
    """Merge all axes into one."""
    return apply(ops.flatten, input, 0, -1)


def unflatten(x: Any, axis: Any, shape: Any, name: str | None = None) -> Any:
    """Split one axis into several of the given extents, of which one may be -1."""
    return apply(ops.unflatten, x, int_attr(axis, "unflatten"), shape_attr(shape, "unflatten"))


def squeeze(x: Any, axis: Any = None, name: str | None = None) -> Any:
    """Drop axes of extent 1: all of them, or those given; an axis of another extent stays. In a
    program an axis that is given, but of unknown extent, counts as of extent 1.
    """
    if axis is None:
        return apply(ops.squeeze, x, None)
    axes = shape_attr(axis, "squeeze")
    if isinstance(x, Tensor) and x.rebind is not None and not isinstance(axes, Tensor):
        unknown = [a for a in axes if -x.ndim <= a < x.ndim and x.shape[a] == -1]
        if unknown:
            return apply(ops.squeeze, x, axes, unknown)
    return apply(ops.squeeze, x, axes)


def unsqueeze(x: Any, axis: Any, name: str | None = None) -> Any:
    """Insert axes of extent 1, one after the other, at the given places of the result so far."""
    return apply(ops.unsqueeze, x, axis if type(axis) is int else shape_attr(axis, "unsqueeze"))


squeeze_ = make_inplace(squeeze, is_view=True)
unsqueeze_ = make_inplace(unsqueeze, is_view=True)


def moveaxis(x: Any, source: Any, destination: Any, name: str | None = None) -> Any:
    """Move axes to other places; those not named keep their order."""
    return apply(
        ops.moveaxis, x, shape_attr(source, "moveaxis"), shape_attr(destination, "moveaxis")
    )


def cast(x: Any, dtype: Any) -> Any:
    """Copy the elements into another dtype."""
    return apply(ops.cast, x, to_torch(dtype))


cast_ = make_inplace(cast)


@packs_ints
def expand(x: Any, shape: Any, name: str | None = None) -> Any:
    """Repeat axes of extent 1 to the given shape; -1 keeps an extent, new axes come in front.

    Example:
        >>> import paddle
        >>> paddle.expand(paddle.to_tensor([1, 2]), [2, -1]).tolist()
        [[1, 2], [1, 2]]
    """
    return apply(ops.expand, x, shape_attr(shape, "expand"))


def broadcast_to(x: Any, shape: Any, name: str | None = None) -> Any:
    """Repeat axes of extent 1 to the given shape, as ``expand`` does."""
    return apply(ops.expand, x, shape_attr(shape, "broadcast_to"))


def expand_as(x: Any, y: Any, name: str | None = None) -> Any:
    """Repeat axes of extent 1 to the shape of ``y``."""
    return apply(ops.expand_as, x, y)


def tile(x: Any, repeat_times: Any, name: str | None = None) -> Any:
    """Repeat the whole tensor along each axis; missing axes or counts in front are taken as 1."""
    return apply(ops.tile, x, shape_attr(repeat_times, "tile"))


def flip(x: Any, axis: Any, name: str | None = None) -> Any:
    """Reverse the order of elements along the given axes."""
    return apply(ops.flip, x, shape_attr(axis, "flip"))


reverse = flip


def rot90(x: Any, k: int = 1, axes: Any = [0, 1], name: str | None = None) -> Any:  # noqa: B006
    """Turn by 90 degrees ``k`` times in the plane of two axes, from the first towards the
    second.
    """
    return apply(ops.rot90, x, k, list(axes))


def roll(x: Any, shifts: Any, axis: Any = None, name: str | None = None) -> Any:
    """Shift elements along the given axes, or along the flattened tensor; those pushed out come in
    at the other end.
    """
    given = None if axis is None else shape_attr(axis, "roll")
    return apply(ops.roll, x, shape_attr(shifts, "roll"), given)


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> Any:
    """Take ``starts`` to ``ends`` of the given axes.

    Bounds may be negative (from the end) and may lie outside the axis.
    """
    if not isinstance(axes, (list, tuple)):
        raise UsageError(f"slice: axes must be a list or tuple, but received {type(axes).__name__}")
    return apply(
        ops.slice_axes, input, list(axes), shape_attr(starts, "slice"), shape_attr(ends, "slice")
    )


def strided_slice(
    x: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Any:
    """Take every ``strides``-th element from ``starts`` to ``ends`` of the given axes; a negative
    stride goes backwards.
    """
    bounds = [shape_attr(v, "strided_slice") for v in (starts, ends, strides)]
    return apply(ops.strided_slice, x, list(axes), *bounds)


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """Take ``length`` slices of one axis from ``start`` on, on the same memory."""
    first = int_attr(start, "narrow")
    extent = input.shape[dim]
    first = first + extent if first < 0 else first
    if first < 0 or length < 0 or first + length > extent:
        raise UsageError(
            f"narrow: start {start} and length {length} do not fit in axis {dim} of extent {extent}"
        )
    return apply(ops.slice_axes, input, [dim], [first], [first + length])


def crop(x: Any, shape: Any = None, offsets: Any = None, name: str | None = None) -> Any:
    """Cut out a box of the given shape (-1: up to the end) whose first corner is at ``offsets``."""
    sizes = x.shape if shape is None else shape_attr(shape, "crop")
    corner = [0] * x.ndim if offsets is None else shape_attr(offsets, "crop")
    return apply(ops.crop, x, sizes, corner)


def unfold(x: Any, axis: int, size: int, step: int, name: str | None = None) -> Any:
    """See windows of one axis, ``step`` apart, as a new last axis of extent ``size``, on the same
    memory.
    """
    return apply(ops.unfold_axis, x, axis, size, step)


def as_strided(x: Any, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Any:
    """See the memory of ``x`` through other extents and strides; ``offset`` is in bytes."""
    return apply(ops.as_strided, x, list(shape), list(stride), offset)


as_complex = unary(ops.as_complex, "See pairs along the last axis as complex numbers.")
as_real = unary(ops.as_real, "See complex numbers as pairs along a new last axis.")


def view_as_complex(input: Any) -> Any:
    """See pairs along the last axis as complex numbers."""
    return apply(ops.as_complex, input)


def view_as_real(input: Any) -> Any:
    """See complex numbers as pairs along a new last axis."""
    return apply(ops.as_real, input)


def shard_index(
    input: Any, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1
) -> Any:
    """Turn global ids into ids inside shard ``shard_id`` of ``nshards``; ids of other shards become
    ``ignore_value``.
    """
    if not 0 <= shard_id < nshards:
        raise UsageError(f"shard_index: shard_id is {shard_id}, but must be in [0, {nshards})")
    return apply(ops.shard_index, input, index_num, nshards, shard_id, ignore_value)
