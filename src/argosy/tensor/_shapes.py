"""Shapes as scripts write them: an int, a list or tuple, an array, a Tensor, a list with 0-D
Tensors in it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array.manipulation import shape as shape_op
from argosy.tensor._core.tensor import Shape, Tensor, apply


def shape_attr(shape: Any, call: str) -> Any:
    """The shape as an op takes it: a list of ints, in which Tensors stay (a program records them as
    inputs).
    """
    kind = type(shape)
    if kind is Shape:
        return shape
    if kind is list or kind is tuple or isinstance(shape, (list, tuple)):
        for n in shape:
            if n.__class__ is not int:
                return [n if isinstance(n, Tensor) else _int(n, call) for n in shape]
        # a Shape is known to have no Tensors in it, so nothing looks for them again
        return Shape(shape)
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, (int, np.integer)):
        return [int(shape)]
    if isinstance(shape, np.ndarray):
        return [_int(n, call) for n in shape.reshape(-1)]
    raise UsageError(
        f"{call}: the shape must be an int, a list or tuple of ints, or a Tensor, but received "
        f"{type(shape).__name__}"
    )


def _int(n: Any, call: str) -> int:
    try:
        if not isinstance(n, bool):
            return operator.index(n)
    except TypeError:
        pass
    raise DtypeError(f"{call}: expected an integer, but received {n!r} of type {type(n).__name__}")


def int_attr(value: Any, call: str) -> int:
    """One integer, given as an int, a NumPy integer or a Tensor with one element."""
    return (
        value
        if type(value) is int
        else int(value)
        if isinstance(value, Tensor)
        else _int(value, call)
    )


def packs_ints(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``x.f(2, 3)`` stand for ``x.f([2, 3])``."""

    @functools.wraps(fn)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and type(args[0]) is int and type(args[1]) is int:
            return fn(x, list(args), **kwargs)
        return fn(x, *args, **kwargs)

    return call


def packs_shape(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``f(2, 3)`` stand for ``f([2, 3])``."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and type(args[0]) is int and type(args[1]) is int:
            return fn(list(args), **kwargs)
        return fn(*args, **kwargs)

    return call


def like(x: Tensor, device: Any) -> tuple[Any, Any]:
    """Shape and place of a tensor like ``x``; a program may learn its shape in a run only, and has
    no place.
    """
    if x.rebind is None:
        return x.shape, x.place if device is None else device
    return (x.shape if -1 not in x.shape else apply(shape_op, x)), device
