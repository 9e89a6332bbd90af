"""``fluid.wrapped_decorator``: decorators that keep the signature of what they decorate."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import contextmanager as signature_safe_contextmanager
from typing import Any

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func: Callable[..., Any]) -> Callable[..., Any]:
    """Give a decorator whose results look like the functions they stand for: name, docstring and
    signature, for ``inspect.getfullargspec`` too.

    Example:
        >>> import inspect
        >>> from paddle.base.wrapped_decorator import wrap_decorator
        >>> @wrap_decorator
        ... def twice(func):
        ...     return lambda *args: 2 * func(*args)
        >>> @twice
        ... def add(a, b=1):
        ...     return a + b
        >>> add(2), inspect.getfullargspec(add).args
        (6, ['a', 'b'])
    """

    @functools.wraps(decorator_func)
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            return decorator_func(func)(*args, **kwargs)

        call.__signature__ = inspect.signature(func)  # type: ignore[attr-defined]
        return call

    return decorate
