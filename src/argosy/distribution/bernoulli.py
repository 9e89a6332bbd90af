"""The distribution over 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.framework import finfo
from argosy.nn import functional as F
from argosy.tensor.engine import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(Distribution):
    """1 with the probability ``probs``, which is kept a little away from 0 and 1.

    Example:
        >>> float(paddle.distribution.Bernoulli(0.5).variance)
        0.25
    """

    probs: Any  # in the base it is a method

    def __init__(self, probs: Any, name: str | None = None) -> None:
        self.name = name or "Bernoulli"
        (given,), kind = parameters(probs)
        self.dtype = kind.name
        eps = finfo(self.dtype).eps
        self.probs = T.clip(given, eps, 1 - eps)
        self.logits = T.log(self.probs) - T.log1p(-self.probs)
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return T.bernoulli(T.expand(self.probs, self._extend_shape(shape)))

    def rsample(self, shape: Sequence[int] = (), temperature: float = 1.0) -> Any:
        """Logits of a relaxed draw, nearer to one of 0 and 1 the smaller ``temperature`` is."""
        share = T.uniform(self._extend_shape(shape), self.dtype, 0.0, 1.0)
        noise = T.log(share) - T.log1p(-share)
        return (noise + self.logits) / temperature

    def cdf(self, value: Tensor) -> Any:
        """The probability of at most ``value``."""
        probs, value = T.broadcast_tensors([self.probs, like(self.probs, value)])
        zeros, ones = T.zeros_like(probs), T.ones_like(probs)
        return T.where(value < 0, zeros, T.where(value < 1, ones - probs, ones))

    def log_prob(self, value: Tensor) -> Any:
        logits, value = T.broadcast_tensors([self.logits, like(self.probs, value)])
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Bernoulli, other)

        def log(logits: Any) -> Any:
            return -F.softplus(-logits)

        own, others = self.logits, other.logits
        return self.probs * (log(own) - log(others)) + (1 - self.probs) * (log(-own) - log(-others))
