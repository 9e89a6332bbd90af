"""Numbers for people. Pure."""

from __future__ import annotations

_PREFIXES = ("", "k", "M", "G")


def count_text(number: float) -> str:
    """``950``, ``12.3k``, ``1.2M``."""
    value, prefix = _scaled(number)
    return f"{value}{prefix}"


def size_text(num_bytes: float) -> str:
    """``512 B``, ``1.5 MB``."""
    value, prefix = _scaled(num_bytes)
    return f"{value} {prefix}B"


def _scaled(number: float) -> tuple[str, str]:
    power = 0
    while number >= 999.5 and power < len(_PREFIXES) - 1:
        number /= 1000.0
        power += 1
    return f"{number:.{0 if power == 0 or number >= 99.95 else 1}f}", _PREFIXES[power]
