"""A name-to-value table that refuses to be overwritten and suggests names on a miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from argosy.foundation.errors import InternalError, UsageError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Values by name; ``kind`` is the word used in messages ("op", "backend")."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._held: dict[str, T] = {}

    def add(self, name: str, value: T) -> T:
        if name in self._held:
            raise InternalError(f"{self.kind} {name!r} is registered twice")
        self._held[name] = value
        return value

    def get(self, name: str) -> T:
        try:
            return self._held[name]
        except KeyError:
            raise UsageError(
                f"there is no {self.kind} called {name!r}.{nearest(name, self._held)}"
            ) from None

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)
