"""What plain calls of common ops return, told from shapes and dtypes alone: the trait ``sketch``.

Recording a program asks for it. Without a sketch the op runs on the meta device, where torch
computes with functions of Python that load sympy when they are first called: a third of a second
in a process that makes its first small program. A sketch takes what the op takes, tensors on the
meta device among it, and returns such tensors, or NotImplemented where a call is not plain: other
dtypes, shapes that do not fit. Then the op runs as if it had none, so errors are the op's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INDEX = (torch.int64, torch.int32)


def like(x: Any, *_: Any, **__: Any) -> Any:
    """The shape and dtype of ``x``."""
    return _made(x.shape, x.dtype) if _are_plain(x) else NotImplemented


def elementwise(x: Any, y: Any, axis: int = -1) -> Any:
    """Two tensors of one dtype, the smaller one repeated; ``y`` from ``axis`` of ``x`` on, if that
    is not -1.
    """
    if not _are_plain(x, y):
        return NotImplemented
    trailing = x.ndim - axis - y.ndim if axis != -1 and y.ndim < x.ndim else 0
    if trailing < 0:
        return NotImplemented
    shape = _broadcast(x.shape, [*y.shape, *[1] * trailing])
    return NotImplemented if shape is None else _made(shape, x.dtype)


def folded_product(x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Any:
    """A matrix after a tensor that is folded into one."""
    rows = x_num_col_dims
    if not _are_plain(x, y) or not 0 < rows < x.ndim or y.ndim != 2:
        return NotImplemented
    if math.prod(x.shape[rows:]) != y.shape[0]:
        return NotImplemented
    return _made([*x.shape[:rows], y.shape[1]], x.dtype)


def product(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    """Two matrices, or stacks of them."""
    if not _are_plain(x, y) or x.ndim < 2 or y.ndim < 2:
        return NotImplemented
    height, inner = reversed(x.shape[-2:]) if transpose_x else x.shape[-2:]
    other, width = reversed(y.shape[-2:]) if transpose_y else y.shape[-2:]
    stack = _broadcast(x.shape[:-2], y.shape[:-2])
    if inner != other or stack is None:
        return NotImplemented
    return _made([*stack, height, width], x.dtype)


def average(x: Any, axis: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """One number for all, or for each position outside ``axis``."""
    if not _are_plain(x) or dtype is not None:
        return NotImplemented
    if axis is None:
        return _made([1] * x.ndim if keepdim else [], x.dtype)
    places = [_place(a, x.ndim) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]
    if not places or None in places or len(set(places)) < len(places):
        return NotImplemented
    kept = [1 if place in places else n for place, n in enumerate(x.shape)]
    shape = kept if keepdim else [n for place, n in enumerate(kept) if place not in places]
    return _made(shape, x.dtype)


def total(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Any:
    """As ``average``."""
    return average(x, axis, keepdim, dtype)


def normalized(x: Any, axis: int = -1, dtype: Any = None) -> Any:
    """The shape and dtype of ``x``, which has the axis."""
    if not _are_plain(x) or dtype is not None or _place(axis, x.ndim) is None:
        return NotImplemented
    return _made(x.shape, x.dtype)


def losses_and_softmax(
    logits: Any, label: Any, soft_label: bool = False, ignore_index: int = -100, axis: int = -1
) -> Any:
    """A number for each position of ``logits``, and something for each of its elements."""
    if not _are_plain(logits) or not isinstance(label, Tensor):
        return NotImplemented
    place = _place(axis, logits.ndim)
    if place is None:
        return NotImplemented
    one = [1 if a == place else n for a, n in enumerate(logits.shape)]
    fits = (
        label.dtype is logits.dtype and label.shape == logits.shape
        if soft_label
        else label.dtype in _INDEX and list(label.shape) == one
    )
    if not fits:
        return NotImplemented
    return _made(one, logits.dtype), _made(logits.shape, logits.dtype)


def _are_plain(*tensors: Any) -> bool:
    """Whether all are tensors of one common floating dtype."""
    return all(isinstance(t, Tensor) for t in tensors) and (
        tensors[0].dtype in _FLOATING and all(t.dtype is tensors[0].dtype for t in tensors)
    )


def _place(axis: Any, ndim: int) -> int | None:
    return axis % ndim if type(axis) is int and -ndim <= axis < ndim else None


def _broadcast(one: Sequence[int], other: Sequence[int]) -> list[int] | None:
    """The shape that both are repeated to; None if they do not fit."""
    ndim = max(len(one), len(other))
    shape = []
    for a, b in zip(
        [1] * (ndim - len(one)) + list(one), [1] * (ndim - len(other)) + list(other), strict=True
    ):
        if a != b and 1 not in (a, b):
            return None
        shape.append(b if a == 1 else a)
    return shape


def _made(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")
