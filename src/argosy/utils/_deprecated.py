"""The ``deprecated`` decorator."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import BadArgument

__all__ = ["deprecated", "VisibleDeprecationWarning"]


class VisibleDeprecationWarning(UserWarning):
    """A deprecation that Python shows by default, outside ``__main__`` too."""


def deprecated(
    update_to: str = "", since: str = "", reason: str = "", level: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as deprecated: note it in its docstring (level 0), warn at each call (1) or
    raise (2).
    """
    if level not in (0, 1, 2):
        raise BadArgument(f"deprecated: level must be 0, 1 or 2, but received {level!r}")

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        message = f'API "{func.__module__}.{func.__name__}" is deprecated'
        message += f" since {since.strip()}" if since.strip() else ""
        message += ", and will be removed in future versions."
        message += f' Please use "{update_to.strip()}" instead.' if update_to.strip() else ""
        message += f"\n    Reason: {reason.strip()}" if reason.strip() else ""
        if func.__doc__:
            func.__doc__ = f"\n\nWarning:\n    {message}\n\n{inspect.cleandoc(func.__doc__)}"
        if level == 0:
            return func

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if level == 2:
                raise RuntimeError(f'API "{func.__module__}.{func.__name__}" has been deprecated.')
            warnings.warn(message, VisibleDeprecationWarning, stacklevel=2)
            return func(*args, **kwargs)

        return wrapper

    return decorate
