"""Distributions over shares: Dirichlet's, and beta, its case of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import like, parameters
from argosy.distribution.exponential_family import ExponentialFamily
from argosy.foundation.errors import UsageError

__all__ = ["Beta", "Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Shares that add up to 1, weighted by ``concentration`` [..., shares]."""

    def __init__(self, concentration: Any) -> None:
        if len(concentration.shape) < 1:
            raise UsageError("`concentration` parameter must be at least one dimensional")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:])

    def _total(self) -> Any:
        return T.sum(self.concentration, -1, keepdim=True)

    @property
    def mean(self) -> Any:
        return self.concentration / self._total()

    @property
    def variance(self) -> Any:
        total = self._total()
        return self.concentration * (total - self.concentration) / (total * total * (total + 1))

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            drawn = T.standard_gamma(T.expand(self.concentration, self._extend_shape(shape)))
            return drawn / T.sum(drawn, -1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        weights = self.concentration
        logs = (weights - 1.0) * T.log(like(weights, value))
        return T.sum(logs, -1) - self._log_beta()

    def _log_beta(self) -> Any:
        weights = self.concentration
        return T.sum(T.lgamma(weights), -1) - T.lgamma(T.sum(weights, -1))

    def entropy(self) -> Any:
        weights = self.concentration
        total, count = T.sum(weights, -1), weights.shape[-1]
        return (
            self._log_beta()
            - (count - total) * T.digamma(total)
            - T.sum((weights - 1.0) * T.digamma(weights), -1)
        )

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Dirichlet, other)
        own, others = self.concentration, other.concentration
        slope = T.digamma(own) - T.digamma(self._total())
        return other._log_beta() - self._log_beta() + T.sum((own - others) * slope, -1)

    @property
    def _natural_parameters(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural: Any) -> Any:
        (x,) = natural
        return T.sum(T.lgamma(x), -1) - T.lgamma(T.sum(x, -1))


class Beta(ExponentialFamily):
    """Shares between 0 and 1, weighted by ``alpha`` and, for what is left, ``beta``.

    Example:
        >>> round(float(paddle.distribution.Beta(1.0, 3.0).mean), 2)
        0.25
    """

    def __init__(self, alpha: Any, beta: Any) -> None:
        (self.alpha, self.beta), _ = parameters(alpha, beta)
        self._dirichlet = Dirichlet(T.stack([self.alpha, self.beta], -1))
        super().__init__(self.alpha.shape)

    @property
    def mean(self) -> Any:
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> Any:
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total * total * (total + 1))

    def log_prob(self, value: Any) -> Any:
        value = like(self.alpha, value)
        return self._dirichlet.log_prob(T.stack([value, 1.0 - value], -1))

    def sample(self, shape: Sequence[int] = ()) -> Any:
        return self._dirichlet.sample(shape)[..., 0]

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Beta, other)
        return self._dirichlet.kl_divergence(other._dirichlet)

    @property
    def _natural_parameters(self) -> tuple[Any, ...]:
        return self.alpha, self.beta

    def _log_normalizer(self, *natural: Any) -> Any:
        x, y = natural
        return T.lgamma(x) + T.lgamma(y) - T.lgamma(x + y)
