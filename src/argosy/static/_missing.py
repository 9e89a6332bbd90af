"""What ``paddle.static`` does not have yet, refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from argosy.foundation.errors import NotSupported, nearest


class NotThere(NotSupported, AttributeError):
    """Paddle has this name, argosy does not: ``hasattr`` says so too."""


def missing_names(module: str, names: str, scope: dict[str, Any]) -> Callable[[str], NoReturn]:
    """A module's ``__getattr__``: ``names`` are refused as not supported, others with the nearest names that exist."""
    shown = module.replace("argosy", "paddle", 1)
    refused = frozenset(names.split())

    def __getattr__(name: str) -> NoReturn:
        if name in refused:
            raise NotThere(f"{shown}.{name} is not supported yet")
        known = [] if name.startswith("_") else [key for key in scope if not key.startswith("_")]
        raise AttributeError(f"module {shown!r} has no attribute {name!r}.{nearest(name, known)}")

    return __getattr__
