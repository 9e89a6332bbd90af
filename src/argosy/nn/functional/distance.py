"""Distances between vectors."""

from __future__ import annotations

from typing import Any

from argosy.ops.math import linalg as ops
from argosy.tensor.engine import apply
from argosy.tensor.linalg import pdist

__all__ = ["pairwise_distance", "pdist"]


def pairwise_distance(
    x: Any,
    y: Any,
    p: float = 2.0,
    epsilon: float = 1e-6,
    keepdim: bool = False,
    name: str | None = None,
) -> Any:
    """The p-norm of ``x - y + epsilon`` over the last axis."""
    return apply(ops.pairwise_distance, x, y, p, epsilon, keepdim)
