"""Divergences of Kullback and Leibler between distributions of one kind."""

from __future__ import annotations

from typing import Any

from argosy.distribution.distribution import Distribution

__all__ = ["kl_divergence"]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How far ``q`` is from ``p``.

    Example:
        >>> a, b = (paddle.distribution.Normal(0.0, s) for s in (1.0, 1.0))
        >>> float(paddle.distribution.kl_divergence(a, b))
        0.0
    """
    return p.kl_divergence(q)
