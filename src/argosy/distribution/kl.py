"""Divergences of Kullback and Leibler between distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from argosy.distribution.distribution import Distribution
from argosy.foundation.errors import DtypeError
from argosy.foundation.process_state import register

__all__ = ["kl_divergence", "register_kl"]

Rule = TypeVar("Rule", bound=Callable[[Any, Any], Any])
_rules: dict[tuple[type, type], Callable[[Any, Any], Any]] = register("rules of kl_divergence", {})


def register_kl(cls_p: type, cls_q: type) -> Callable[[Rule], Rule]:
    """Make a function the rule for distributions of two classes and those derived from them."""
    if not (issubclass(cls_p, Distribution) and issubclass(cls_q, Distribution)):
        raise DtypeError("cls_p and cls_q must be subclass of Distribution")

    def keep(rule: Rule) -> Rule:
        _rules[cls_p, cls_q] = rule
        return rule

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How far ``q`` is from ``p``: by the rule that ``register_kl`` gave their classes, the nearest
    of them, or by their own.

    Example:
        >>> a, b = (paddle.distribution.Normal(0.0, s) for s in (1.0, 1.0))
        >>> float(paddle.distribution.kl_divergence(a, b))
        0.0
    """
    for cls_p in type(p).__mro__:
        for cls_q in type(q).__mro__:
            if (cls_p, cls_q) in _rules:
                return _rules[cls_p, cls_q](p, q)
    return p.kl_divergence(q)
