"""``paddle.pir_utils``: running the same code with programs of Paddle's first and second IR.

There is one kind of programs here, so the guards differ in the flag ``FLAGS_enable_pir_api`` that
they set and in nothing that is computed; inside of all of them ``in_pir_mode()`` is False.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from argosy import static  # noqa: F401  (installs what records)
from argosy.framework import get_flags, set_flags
from argosy.framework.mode import switch

__all__ = [
    "DygraphOldIrGuard",
    "DygraphPirGuard",
    "IrGuard",
    "OldIrGuard",
    "test_with_dygraph_pir",
    "test_with_old_ir_only",
    "test_with_pir_api",
]

_FLAG = "FLAGS_enable_pir_api"


class _Guard:
    """Sets the flag and, if ``records``, the static mode; puts both back."""

    def __init__(self, value: bool, records: bool) -> None:
        self._value, self._records = value, records

    def __enter__(self) -> None:
        self._before = get_flags(_FLAG)
        self._was_static = switch.is_static
        set_flags({_FLAG: self._value})
        if self._records:
            switch.enable()

    def __exit__(self, *exc: Any) -> None:
        set_flags(self._before)
        if self._records and not self._was_static:
            switch.disable()


class IrGuard(_Guard):
    """Static mode, with the flag on."""

    def __init__(self) -> None:
        super().__init__(True, records=True)


class OldIrGuard(_Guard):
    """Static mode, with the flag off."""

    def __init__(self) -> None:
        super().__init__(False, records=True)


class DygraphPirGuard(_Guard):
    """The flag on; the mode stays."""

    def __init__(self) -> None:
        super().__init__(True, records=False)


class DygraphOldIrGuard(_Guard):
    """The flag off; the mode stays."""

    def __init__(self) -> None:
        super().__init__(False, records=False)


def _under(*guards: Callable[[], _Guard]) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    def decorate(func: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> None:
            for guard in guards:
                with guard():
                    func(*args, **kwargs)

        return run

    return decorate


def test_with_pir_api(func: Callable[..., Any]) -> Callable[..., None]:
    """Call ``func`` as it is, and again inside of ``IrGuard``."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> None:
        func(*args, **kwargs)
        with IrGuard():
            func(*args, **kwargs)

    return run


def test_with_old_ir_only(func: Callable[..., Any]) -> Callable[..., None]:
    """Call ``func`` inside of ``OldIrGuard``."""
    return _under(OldIrGuard)(func)


def test_with_dygraph_pir(func: Callable[..., Any]) -> Callable[..., None]:
    """Call ``func`` inside of ``DygraphPirGuard``."""
    return _under(DygraphPirGuard)(func)


for _function in (test_with_pir_api, test_with_old_ir_only, test_with_dygraph_pir):
    _function.__test__ = False  # type: ignore[attr-defined]
