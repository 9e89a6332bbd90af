"""Names of Paddle's that a module does not have, refused by name."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NoReturn

from argosy.foundation.errors import NotSupported, nearest


class NotThere(NotSupported, AttributeError):
    """Paddle has this name, argosy does not: ``hasattr`` says so too."""


class NotImportable(NotSupported, ModuleNotFoundError):
    """Paddle has this module, or this name to import, argosy does not. It has no ``name``: with one
    the import system would say less in its place.
    """


def missing_names(
    module: str, names: Container[str], scope: dict[str, Any]
) -> Callable[[str], NoReturn]:
    """A module's ``__getattr__``: ``names`` are refused as not supported, others with the nearest
    names that exist.
    """
    shown = module.replace("argosy", "paddle", 1)

    def __getattr__(name: str) -> NoReturn:
        if name in names:
            raise NotThere(f"{shown}.{name} is not supported")
        known = [] if name.startswith("_") else [key for key in scope if not key.startswith("_")]
        raise AttributeError(f"module {shown!r} has no attribute {name!r}.{nearest(name, known)}")

    return __getattr__
