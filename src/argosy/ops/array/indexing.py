"""Reading and assigning parts of a tensor.

An index is a tuple of integers, slices, None, Ellipsis, booleans and tensors, as Python passes them
to ``__getitem__``. torch has no slices with a negative step: such an axis is flipped and its slice
rewritten.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops import rearrangement
from argosy.ops.array.manipulation import slice_axes
from argosy.ops.table import op
from argosy.ops.traits import Precision, Record, Rows

_END = 2**31 - 1  # where Paddle ends what has no end


def _slice_parts(record: Record, x: Any, index: tuple[Any, ...]) -> Any:
    """Numbers and slices with step 1 are one operator in programs."""
    axes, starts, ends, dropped = [], [], [], []
    if len(index) > x.ndim:
        return NotImplemented
    for axis, item in enumerate(index):
        if type(item) is int:
            first, last = item, _END if item == -1 else item + 1
            dropped.append(axis)
        elif isinstance(item, slice) and item.step in (None, 1):
            first, last = item.start or 0, _END if item.stop is None else item.stop
            if type(first) is not int or type(last) is not int:
                return NotImplemented
            if (first, last) == (0, _END):
                continue
        else:
            return NotImplemented
        axes.append(axis)
        starts.append(first)
        ends.append(last)
    return record(slice_axes, x, axes, starts, ends, dropped) if axes else NotImplemented


@op("getitem", rows=Rows.KEPT_IF_ALONE, parts=_slice_parts, file_parts=rearrangement.getitem)
def getitem(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    flipped, index = _without_negative_steps(x, index)
    return (x.flip(flipped) if flipped else x)[index]


@op("setitem_", types=("set_value",), mutates=("x",), precision=Precision.UNTOUCHED)
def setitem_(x: Tensor, index: tuple[Any, ...], value: Any) -> Tensor:
    if isinstance(value, Tensor) and value.dtype is not x.dtype:
        value = value.to(x.dtype)
    flipped, index = _without_negative_steps(x, index)
    if not flipped:
        x[index] = value
        return x
    # flip() copies: index the element positions instead, then write through a flat view of x
    positions = torch.arange(x.numel(), device=x.device).reshape(x.shape).flip(flipped)[index]
    values = value.expand(positions.shape).reshape(-1) if isinstance(value, Tensor) else value
    x[torch.unravel_index(positions.reshape(-1), x.shape)] = values
    return x


def _without_negative_steps(x: Tensor, index: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...]]:
    """Return the axes to flip and the index to use afterwards."""
    if not any(isinstance(i, slice) and i.step is not None and i.step < 0 for i in index):
        return [], index
    consumed = sum(_num_axes(i) for i in index)
    axis = 0
    flipped: list[int] = []
    rewritten: list[Any] = []
    for i in index:
        if i is Ellipsis:
            axis += x.ndim - consumed
        elif isinstance(i, slice) and i.step is not None and i.step < 0:
            length = x.shape[axis]
            start, stop, step = i.indices(length)
            flipped.append(axis)
            i = slice(length - 1 - start, length - 1 - stop, -step)
        rewritten.append(i)
        axis += _num_axes(i)
    return flipped, tuple(rewritten)


def _num_axes(i: Any) -> int:
    """How many axes of the tensor one index item takes up."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    if isinstance(i, Tensor) and i.dtype is torch.bool:
        return i.ndim
    return 1
