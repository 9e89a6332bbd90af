"""The compiled loops, loaded when the first of them is called.

Importing numba and reading its cache takes some 0.7 s, a third of a worker's start. A process that
only joins a job, or fails before its first collective, does not pay for it.
"""

from __future__ import annotations

import importlib
from typing import Any


class _Module:
    """Stands for a module; a function that was asked for once is found at once afterwards."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        self.__dict__[attribute] = value
        return value


kernels: Any = _Module("argosy.runtime.comm.backends.shm.kernels")
sync: Any = _Module("argosy.runtime.comm.backends.shm.sync")
