"""``paddle.hapi.model`` without ``Model``."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def to_list(value: Any) -> list[Any] | None:
    """A list or tuple as a list, anything else as a list of one; None stays None."""
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]
