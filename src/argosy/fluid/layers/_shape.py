"""What the functions of 1.x do to shapes: results have at least one dimension, and operands are aligned by ``axis``."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.tensor import reshape, unsqueeze


def at_least_1d(x: Any) -> Any:
    """A single number as shape [1]."""
    return reshape(x, [1]) if x.ndim == 0 else x


def align(x: Any, y: Any, axis: int) -> Any:
    """Give ``y`` trailing axes of length 1, so that its first one stands under axis ``axis`` of ``x``; -1 aligns the last ones."""
    if axis == -1 or y.ndim >= x.ndim:
        return y
    num_trailing = x.ndim - axis - y.ndim
    if num_trailing < 0:
        raise UsageError(
            f"elementwise operation: y of shape {y.shape} does not fit into x of shape {x.shape} from axis {axis} on"
        )
    return unsqueeze(y, list(range(y.ndim, y.ndim + num_trailing))) if num_trailing else y
