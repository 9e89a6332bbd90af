"""Marks on functions: what is not converted."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError
from argosy.jit.operators.call import CONVERSION_OPTIONS, ConversionOptions

__all__ = ["not_to_static"]


def not_to_static(func: Any = None) -> Any:
    """Let ``func`` be called as it is written from converted functions; also a decorator.

    Example:
        >>> import paddle
        >>> @paddle.jit.not_to_static
        ... def double(x):
        ...     return x * 2
        >>> @paddle.jit.to_static
        ... def f(x):
        ...     return double(x) + 1
        >>> float(f(paddle.to_tensor(3.0)))
        7.0
    """
    if func is None:
        return not_to_static
    if not callable(func):
        raise DtypeError(f"not_to_static: expected a function, but received {type(func).__name__}")
    inner = getattr(func, "__func__", func)
    setattr(inner, CONVERSION_OPTIONS, ConversionOptions(not_convert=True))
    return func
