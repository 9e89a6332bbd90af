"""Linear, dropout, padding, interpolation and the like."""

from __future__ import annotations

from typing import Any

from argosy.ops import linalg as linalg_ops
from argosy.tensor._tensor import apply

__all__ = ["linear"]


def linear(x: Any, weight: Any, bias: Any = None, name: str | None = None) -> Any:
    """``x @ weight + bias``; the weight is laid out [in_features, out_features]."""
    return apply(linalg_ops.linear, x, weight, bias)
