"""What Paddle 1.x and 2.x have so that scripts run on Python 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = [
    "floor_division",
    "get_exception_message",
    "long_type",
    "round",
    "to_bytes",
    "to_text",
]

int_type = long_type = int


def to_text(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Bytes as text, also those in a list, set or dict, which ``inplace`` changes itself."""
    return _converted(obj, lambda item: _text(item, encoding), inplace)


def to_bytes(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Text as bytes, also that in a list or set, which ``inplace`` changes itself."""
    return _converted(obj, lambda item: _bytes(item, encoding), inplace)


def _text(item: Any, encoding: str) -> Any:
    return item.decode(encoding) if isinstance(item, bytes) else item


def _bytes(item: Any, encoding: str) -> Any:
    return item.encode(encoding) if isinstance(item, str) else item


def _converted(obj: Any, convert: Callable[[Any], Any], inplace: bool) -> Any:
    if isinstance(obj, dict):
        made: Any = {convert(key): convert(value) for key, value in obj.items()}
    elif isinstance(obj, (list, set)):
        made = type(obj)(convert(item) for item in obj)
    else:
        return convert(obj)
    if not inplace:
        return made
    obj.clear()
    (obj.extend if isinstance(obj, list) else obj.update)(made)
    return obj


def round(x: float, d: int = 0) -> float:
    """``x`` to ``d`` decimal places, halves away from zero."""
    scale = 10**d
    return math.copysign(math.floor(abs(x) * scale + 0.5) / scale, x)


def floor_division(x: Any, y: Any) -> Any:
    """``x // y``."""
    return x // y


def get_exception_message(exc: BaseException) -> str:
    """The text of an exception."""
    return str(exc)
