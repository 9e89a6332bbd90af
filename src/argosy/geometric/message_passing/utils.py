"""What the functions of messages share."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T

__all__: list[str] = []


def reshape_lhs_rhs(x: Any, y: Any) -> tuple[Any, Any]:
    """Give both as many dimensions as the one with more has, and at least two: new ones come after
    the first.
    """
    size = max(len(x.shape), len(y.shape), 2)
    return _filled_up(x, size), _filled_up(y, size)


def _filled_up(x: Any, size: int) -> Any:
    missing = size - len(x.shape)
    return T.unsqueeze(x, list(range(1, 1 + missing))) if missing else x
