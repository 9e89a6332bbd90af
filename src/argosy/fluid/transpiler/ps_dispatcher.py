"""``fluid.transpiler.ps_dispatcher``: the ways in which 1.x gives variables to servers.

Here dense parameters are cut into contiguous ranges and rows go by a hash of their id, whichever
way a script names.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import NotSupported


class PSDispatcher:
    """A way to choose a server for each variable."""

    def __init__(self, pserver_endpoints: Sequence[str]) -> None:
        self._eps = list(pserver_endpoints)
        self._step = 0

    @property
    def eps(self) -> list[str]:
        """The servers."""
        return self._eps

    def reset(self) -> None:
        """Begin with the first server again."""
        self._step = 0

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """A server for each variable."""
        raise NotSupported(f"{type(self).__name__} does not say how to dispatch variables")


class HashName(PSDispatcher):
    """By a hash of the name, the same in every process."""

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """A server for each variable."""
        names = [v.name() if callable(v.name) else v.name for v in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]


class RoundRobin(PSDispatcher):
    """One after the other.

    Example:
        >>> from paddle.fluid.transpiler import RoundRobin
        >>> RoundRobin(["a:1", "b:1"]).dispatch(["x", "y", "z"])
        ['a:1', 'b:1', 'a:1']
    """

    def dispatch(self, varlist: Sequence[Any]) -> list[str]:
        """A server for each variable."""
        chosen = [self._eps[(self._step + i) % len(self._eps)] for i in range(len(varlist))]
        self._step = (self._step + len(varlist)) % len(self._eps)
        return chosen
