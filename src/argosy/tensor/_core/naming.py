"""Paddle's unique names: ``linear_0``, ``linear_0.w_0``; counters per key, restarted inside a
guard.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from argosy.foundation.process_state import register


class UniqueNames:
    """Counters by key. One process-wide instance; ``guard`` swaps in fresh counters."""

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}
        self._prefix = ""

    def generate(self, key: str) -> str:
        """Return ``key_N`` with the next N of ``key``."""
        count = self._counters.get(key, 0)
        self._counters[key] = count + 1
        return f"{self._prefix}{key}_{count}"

    def switch(
        self, counters: dict[str, int] | None = None, prefix: str = ""
    ) -> tuple[dict[str, int], str]:
        """Use other counters from now on; returns the old ones with their prefix."""
        old = (self._counters, self._prefix)
        self._counters = {} if counters is None else counters
        self._prefix = prefix
        return old

    @contextlib.contextmanager
    def guard(self, prefix: str | None = None) -> Iterator[None]:
        """Restart every counter inside the block; ``prefix`` is put before each name."""
        if isinstance(prefix, bytes):
            prefix = prefix.decode()
        old = self.switch(prefix=prefix or "")
        try:
            yield
        finally:
            self._counters, self._prefix = old


unique_name = register("unique names", UniqueNames())
