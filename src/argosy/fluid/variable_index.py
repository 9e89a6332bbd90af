"""Elements of variables, as Paddle's own code asks for them."""

from __future__ import annotations

from typing import Any

from argosy.static import setitem as _setitem_static

__all__ = ["_getitem_static", "_setitem_static"]


def _getitem_static(x: Any, indices: Any) -> Any:
    """``x[indices]``."""
    return x[indices]
