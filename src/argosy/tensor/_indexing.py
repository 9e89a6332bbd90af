"""``x[...]`` and ``x[...] = v``: from what a script writes between the brackets to the ops of ``ops.indexing``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops import indexing as ops
from argosy.tensor._tensor import Tensor, apply


def _item(i: Any, position: int) -> Any:
    if i is None or i is Ellipsis or isinstance(i, (int, bool, Tensor)):
        return i
    if isinstance(i, slice):
        if i.step is not None and int(i.step) == 0:
            raise UsageError(f"the step of slice {i} at position {position} of the index is 0; it must not be")
        return slice(*[None if v is None else int(v) for v in (i.start, i.stop, i.step)])
    if isinstance(i, (np.integer, np.bool_)):
        return i.item()
    if isinstance(i, (np.ndarray, list, tuple, range)):
        if any(isinstance(v, Tensor) for v in i):
            return Tensor([int(v) if isinstance(v, Tensor) and v.size == 1 else v for v in i])
        return Tensor(np.asarray(i)) if len(i) else Tensor(np.zeros(0, np.int64))
    if isinstance(i, torch.Tensor):
        return Tensor(i)
    raise UsageError(
        "Only support Integer, Slice, Ellipsis, None, Tuples of these types and List / Tensor of Bool and Integers, "
        f"but received {type(i).__name__} at position {position} of the index"
    )


def _normalize(x: Any, index: Any) -> tuple[Any, ...]:
    items = index if isinstance(index, tuple) else (index,)
    result = tuple([_item(i, n) for n, i in enumerate(items)])
    if sum(i is Ellipsis for i in result) > 1:
        raise OutOfRange("an index can only have a single Ellipsis (...)")
    return result


def get_item(x: Any, index: Any) -> Any:
    return apply(ops.getitem, x, _normalize(x, index))


def set_item(x: Any, index: Any, value: Any) -> None:
    if isinstance(value, (list, tuple, np.ndarray, np.generic)):
        value = Tensor(value)
    apply(ops.setitem_, x, _normalize(x, index), value)
