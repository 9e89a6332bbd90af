"""What the functions of 1.x do to shapes: results have at least one dimension."""

from __future__ import annotations

from typing import Any

from argosy.tensor import reshape


def at_least_1d(x: Any) -> Any:
    """A single number as shape [1]."""
    return reshape(x, [1]) if x.ndim == 0 else x
