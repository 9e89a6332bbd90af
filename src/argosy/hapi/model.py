"""Helpers of ``paddle.Model``, which is not part of this package."""

from __future__ import annotations

from typing import Any

__all__ = ["to_list"]


def to_list(value: Any) -> Any:
    """``value`` in a list, unless it is None, a list or a tuple."""
    if value is None or isinstance(value, (list, tuple)):
        return value if value is None else list(value)
    return [value]
