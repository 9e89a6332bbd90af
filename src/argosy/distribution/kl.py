"""Divergences of Kullback and Leibler between distributions of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.distribution.bernoulli import Bernoulli
from argosy.distribution.categorical import Categorical
from argosy.distribution.distribution import Distribution
from argosy.distribution.normal import Normal
from argosy.distribution.uniform import Uniform
from argosy.foundation.errors import NotSupported
from argosy.nn import functional as F
from argosy.tensor.engine import Tensor

__all__ = ["kl_divergence"]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How far ``q`` is from ``p``.

    Example:
        >>> a, b = (paddle.distribution.Normal(0.0, s) for s in (1.0, 1.0))
        >>> float(paddle.distribution.kl_divergence(a, b))
        0.0
    """
    for kind, compute in _BY_KIND.items():
        if isinstance(p, kind) and isinstance(q, kind):
            found: Tensor = compute(p, q)
            return found
    raise NotSupported(f"kl_divergence between {type(p).__name__} and {type(q).__name__}")


def _normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    offset = (p.loc - q.loc) / q.scale
    return 0.5 * (ratio * ratio + offset * offset - 1.0) - T.log(ratio)


def _uniform(p: Any, q: Any) -> Any:
    return T.log((q.high - q.low) / (p.high - p.low))


def _categorical(p: Any, q: Any) -> Any:
    logs, others = (F.log_softmax(x.logits, axis=-1) for x in (p, q))
    return T.sum(T.exp(logs) * (logs - others), axis=-1, keepdim=True)


def _bernoulli(p: Any, q: Any) -> Any:
    def log(logits: Any) -> Any:
        return -F.softplus(-logits)

    return p.probs * (log(p.logits) - log(q.logits)) + (1 - p.probs) * (
        log(-p.logits) - log(-q.logits)
    )


_BY_KIND: dict[type, Callable[[Any, Any], Any]] = {
    Normal: _normal,
    Uniform: _uniform,
    Categorical: _categorical,
    Bernoulli: _bernoulli,
}
