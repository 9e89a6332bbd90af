"""Reads arguments that Paddle accepts in several forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError
from argosy.tensor._core.inplace import replace
from argosy.tensor._core.tensor import Tensor


def axes(axis: Any, call: str) -> Any:
    """``axis`` as None (all axes), an int or a list of ints; Tensors and NumPy integers count as
    ints.
    """
    kind = type(axis)
    if axis is None or kind is int:
        return axis
    if kind is list or kind is tuple:
        return [_integer(a, call) for a in axis] or None
    if isinstance(axis, Tensor):
        return axis.tolist()
    return _integer(axis, call)


def _integer(value: Any, call: str) -> int:
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, Tensor):
        return int(value)
    raise DtypeError(
        f"{call}: axis must be int, list or tuple of int, or Tensor, but received "
        f"{type(value).__name__}"
    )


def store(out: Any, value: Any, call: str) -> Any:
    """Return ``value``, or put it into the Tensors of ``out`` (one, or as many as ``value`` has)
    and return those.
    """
    if out is None:
        return value
    if isinstance(value, (list, tuple)):
        return tuple(replace(o, v, call) for o, v in zip(out, value, strict=True))
    return replace(out, value, call)
