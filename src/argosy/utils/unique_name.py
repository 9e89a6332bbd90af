"""The names that layers, parameters and tensors get: ``linear_0``, ``linear_0.w_0``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.tensor.engine import unique_name as _names

__all__ = ["generate", "guard", "switch"]


def generate(key: str) -> str:
    """Return ``key_N`` with the next N of ``key``.

    Example:
        >>> with paddle.utils.unique_name.guard():
        ...     print(paddle.utils.unique_name.generate("fc"),
        ...         paddle.utils.unique_name.generate("fc"))
        fc_0 fc_1
    """
    return _names.generate(key)


def switch(new_generator: Any = None, new_para_name_checker: Any = None) -> tuple[Any, None]:
    """Count from zero, or go on with what an earlier ``switch`` returned; returns the counters that
    were in use.

    Paddle returns its generator and a name checker. The checker is always None here.
    """
    state = new_generator if isinstance(new_generator, _Counters) else None
    if new_generator is not None and state is None:
        raise UsageError(
            "unique_name.switch: expected None or the first value that switch() returned"
        )
    old = _names.switch(state.counters, state.prefix) if state else _names.switch()
    return _Counters(*old), None


def guard(new_generator: str | bytes | None = None) -> AbstractContextManager[None]:
    """Count from zero inside a ``with`` block; a string is put before every name."""
    prefix = new_generator.decode() if isinstance(new_generator, bytes) else new_generator
    if prefix is not None and not isinstance(prefix, str):
        raise UsageError(
            "unique_name.guard: expected None or a prefix, but received "
            f"{type(new_generator).__name__}"
        )
    return _names.guard(prefix)


class _Counters:
    """Counters that ``switch`` put aside."""

    __slots__ = ("counters", "prefix")

    def __init__(self, counters: dict[str, int], prefix: str) -> None:
        self.counters = counters
        self.prefix = prefix
