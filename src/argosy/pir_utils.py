"""Paddle's guards around its two forms of programs.

Here a program consists of blocks and operators, whatever guard is open. What remains of the guards
is the mode: ``IrGuard`` and ``OldIrGuard`` record programs inside the block, the two for dygraph
change nothing; and names: inside ``IrGuard`` results have none that scripts know, so they do not
count among those of layers and parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from argosy.framework.mode import switch
from argosy.static.record.naming import aside
from argosy.static.record.recorder import recorder

__all__ = ["DygraphOldIrGuard", "DygraphPirGuard", "IrGuard", "OldIrGuard", "test_with_pir_api"]


class IrGuard(AbstractContextManager[None]):
    """Record programs inside the block.

    Example:
        >>> from paddle.pir_utils import IrGuard
        >>> with IrGuard():
        ...     paddle.in_dynamic_mode()
        False
        >>> paddle.in_dynamic_mode()
        True
    """

    _is_new = True

    def __enter__(self) -> None:
        self._was_static = switch.is_static
        switch.enable()
        self._naming = recorder.naming(aside("value") if self._is_new else None)
        self._naming.__enter__()

    def __exit__(self, *error: object) -> None:
        self._naming.__exit__(None, None, None)
        if not self._was_static:
            switch.disable()


class OldIrGuard(IrGuard):
    """Record programs inside the block, with the names of Paddle 2."""

    _is_new = False


class DygraphPirGuard(AbstractContextManager[None]):
    """Leaves everything as it is."""

    def __exit__(self, *error: object) -> None:
        return None


class DygraphOldIrGuard(DygraphPirGuard):
    """Leaves everything as it is."""


def test_with_pir_api(func: Callable[..., Any]) -> Callable[..., None]:
    """Call a test as it is, and once more while programs are recorded."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> None:
        func(*args, **kwargs)
        with IrGuard():
            func(*args, **kwargs)

    return call
