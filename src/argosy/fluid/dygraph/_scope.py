"""Layers as 1.5 and 1.6 construct them: with the name of a scope before the other arguments."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

_L = TypeVar("_L", bound=type)


def takes_scope(*instead: Any) -> Any:
    """Decorate a layer: a string as first argument is dropped, or replaced by the argument that had
    no place then.
    """

    def decorate(cls: _L) -> _L:
        construct = cls.__init__  # type: ignore[misc]

        @functools.wraps(construct)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if args and isinstance(args[0], str):
                args = (*instead, *args[1:])
            construct(self, *args, **kwargs)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate
