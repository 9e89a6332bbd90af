"""``x[...]`` and ``x[...] = v``: from what a script writes between the brackets to the ops of
``ops.indexing``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import indexing as ops
from argosy.tensor._core import tensor as _tensor
from argosy.tensor._core.inplace import check_writable, is_view_in_graph, overwrite_view
from argosy.tensor._core.tensor import Tensor, apply, wrap

_PLAIN = frozenset({int, slice, type(None), type(Ellipsis)})
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
    return apply(ops.getitem, x, _normalize(index))


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


def _normalize(index: Any) -> tuple[Any, ...]:
    items = index if isinstance(index, tuple) else (index,)
    result = tuple([_item(i, n) for n, i in enumerate(items)])
    if sum(i is Ellipsis for i in result) > 1:
        raise UsageError("an index can only have a single ellipsis ('...')")
    return result


def _item(i: Any, position: int) -> Any:
    if i is None or i is Ellipsis or isinstance(i, int):
        return i
    if isinstance(i, slice):
        for bound in (i.start, i.stop, i.step):
            if isinstance(bound, (float, np.floating)):
                raise UsageError(
                    f"slice {i} at position {position} of the index: its bounds must be integers, "
                    f"Tensors of one integer or None, but received {type(bound).__name__}"
                )
        if i.step is not None and int(i.step) == 0:
            raise UsageError(
                f"the step of slice {i} at position {position} of the index is 0; it must not be"
            )
        return slice(*[None if v is None else int(v) for v in (i.start, i.stop, i.step)])
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
