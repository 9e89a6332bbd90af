<<<<<<< HEAD
"""Helpers of ``paddle.Model``, which is not part of this package."""
=======
"""``paddle.hapi.model`` without ``Model``."""
>>>>>>> main

from __future__ import annotations

from typing import Any

<<<<<<< HEAD
__all__ = ["to_list"]


def to_list(value: Any) -> Any:
    """``value`` in a list, unless it is None, a list or a tuple."""
    if value is None or isinstance(value, (list, tuple)):
        return value if value is None else list(value)
    return [value]
=======
__all__: list[str] = []


def to_list(value: Any) -> list[Any] | None:
    """A list or tuple as a list, anything else as a list of one; None stays None."""
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]
>>>>>>> main
