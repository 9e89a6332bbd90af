"""``x[...]`` and ``x[...] = v``: from what a script writes between the brackets to the ops of
``ops.indexing``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError, NotEager, UsageError
from argosy.ops.array import indexing as ops
from argosy.ops.array.manipulation import slice_axes, strided_slice
from argosy.tensor._core import tensor as _tensor
from argosy.tensor._core.inplace import check_writable, is_view_in_graph, overwrite_view
from argosy.tensor._core.tensor import Tensor, apply, wrap

_PLAIN = frozenset({int, slice, type(None), type(Ellipsis)})
_END = 2**31 - 1  # beyond every axis
_INDEX_DTYPES = (torch.int64, torch.int32, torch.bool)


def get_item(x: Tensor, index: Any) -> Any:
    """Read a part of the tensor: on the same memory for numbers and slices, a copy for lists, masks
    and Tensors.
    """
    if _tensor.active_mode is None:
        # Numbers and slices are what torch takes as they are; anything it refuses is looked at
        # below.
        kind = type(index)
        if (
            kind is int
            or kind is slice
            or (kind is tuple and _PLAIN.issuperset(map(type, index)) and index.count(...) < 2)
        ):
            try:
                return wrap(x.raw[index])
            except (IndexError, ValueError, TypeError):
                pass
    place = _normalize(index, takes_late=True)
    if any(isinstance(i, slice) and _is_late(i) for i in place):
        x, place = _sliced_late(x, place)
        if all(isinstance(i, slice) and i == slice(None) for i in place):
            return x
    return apply(ops.getitem, x, place)


def set_item(x: Tensor, index: Any, value: Any) -> None:
    """Write a part of the tensor in place; the value is broadcast and converted to the tensor's
    dtype.
    """
    if isinstance(value, np.ndarray):
        value = Tensor(value)
    elif isinstance(value, np.generic):
        value = value.item()
    elif not isinstance(value, (Tensor, int, float, complex)):
        raise UsageError(
            "x[...] = value: the value must be a Tensor, an array or a number, "
            f"but received {type(value).__name__}; convert it with paddle.to_tensor"
        )
    check_writable(x, "x[...] = value")
    place = _normalize(index)
    try:
        apply(ops.setitem_, x, place, value)
    except UsageError:
        if not is_view_in_graph(x):
            raise
        changed = x.clone()
        apply(ops.setitem_, changed, place, value)
        overwrite_view(x, changed.raw)


def _normalize(index: Any, takes_late: bool = False) -> tuple[Any, ...]:
    """The index as the ops take it. ``takes_late``: slices may keep bounds whose values only a run
    of the program has.
    """
    items = index if isinstance(index, tuple) else (index,)
    result = tuple([_item(i, n, takes_late) for n, i in enumerate(items)])
    if sum(i is Ellipsis for i in result) > 1:
        raise UsageError("an index can only have a single ellipsis ('...')")
    return result


def _is_late(i: slice) -> bool:
    return any(isinstance(bound, Tensor) for bound in (i.start, i.stop, i.step))


def _sliced_late(x: Tensor, place: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """``x`` after the slices whose bounds only a run has, and the rest of the index."""
    axis, axes, starts, ends, steps, rest = 0, [], [], [], [], []
    num_taken = sum(_num_axes(i) for i in place)
    for i in place:
        if isinstance(i, slice) and _is_late(i):
            is_backwards = isinstance(i.step, int) and i.step < 0
            first, last = (_END, -_END - 1) if is_backwards else (0, _END)
            axes.append(axis)
            starts.append(first if i.start is None else i.start)
            ends.append(last if i.stop is None else i.stop)
            steps.append(1 if i.step is None else i.step)
            i = slice(None)
        rest.append(i)
        axis += x.ndim - num_taken if i is Ellipsis else _num_axes(i)
    if all(isinstance(step, int) and step == 1 for step in steps):
        return apply(slice_axes, x, axes, starts, ends), tuple(rest)
    return apply(strided_slice, x, axes, starts, ends, steps), tuple(rest)


def _num_axes(i: Any) -> int:
    """How many axes of the tensor one item of an index takes up."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    return i.ndim if isinstance(i, Tensor) and i.raw.dtype is torch.bool else 1


def _bound(v: Any, takes_late: bool) -> Any:
    if v is None:
        return None
    try:
        return int(v)
    except NotEager:
        if not takes_late:
            raise
        return v


def _item(i: Any, position: int, takes_late: bool) -> Any:
    if i is None or i is Ellipsis or isinstance(i, int):
        return i
    if isinstance(i, slice):
        for bound in (i.start, i.stop, i.step):
            if isinstance(bound, (float, np.floating)):
                raise UsageError(
                    f"slice {i} at position {position} of the index: its bounds must be integers, "
                    f"Tensors of one integer or None, but received {type(bound).__name__}"
                )
        bounds = [_bound(v, takes_late) for v in (i.start, i.stop, i.step)]
        if isinstance(bounds[2], int) and bounds[2] == 0:
            raise UsageError(
                f"the step of slice {i} at position {position} of the index is 0; it must not be"
            )
        return slice(*bounds)
    if isinstance(i, (np.integer, np.bool_)) or (
        isinstance(i, np.ndarray) and i.ndim == 0 and i.dtype.kind in "biu"
    ):
        return i.item()
    if isinstance(i, (np.ndarray, list, tuple, range)):
        i = _as_tensor(i)
    elif isinstance(i, torch.Tensor):
        i = wrap(i)
    if not isinstance(i, Tensor):
        raise UsageError(
            "Only support Integer, Slice, Ellipsis, None, Tuples of these types and List / "
            "Tensor of Bool and Integers, "
            f"but received {type(i).__name__} at position {position} of the index"
        )
    if i.raw.dtype not in _INDEX_DTYPES:
        raise DtypeError(
            "a Tensor used as an index must be bool, int32 or int64, but this one is "
            f"{i.dtype.name}"
        )
    return i


def _as_tensor(values: Any) -> Tensor:
    if not len(values):
        return Tensor(np.zeros(0, np.int64))
    if any(isinstance(v, Tensor) for v in values):
        return Tensor([int(v) if isinstance(v, Tensor) and v.size == 1 else v for v in values])
    array = np.asarray(values)
    if array.dtype.kind not in "biu":
        raise UsageError(
            "an array used as an index must hold bools or integers, but this one holds "
            f"{array.dtype}"
        )
    return Tensor(array if array.dtype.kind == "b" else array.astype(np.int64))
