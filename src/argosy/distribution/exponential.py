"""The exponential distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import like, parameters
from argosy.distribution.exponential_family import ExponentialFamily

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Waiting times of events that come at ``rate``."""

    def __init__(self, rate: Any) -> None:
        (self.rate,), kind = parameters(rate)
        self._kind = kind.name
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Any:
        return 1.0 / self.rate

    @property
    def variance(self) -> Any:
        return 1.0 / (self.rate * self.rate)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        share = T.uniform(self._extend_shape(shape), self._kind, 0.0, 1.0)
        return self.icdf(share)

    def log_prob(self, value: Any) -> Any:
        return T.log(self.rate) - self.rate * like(self.rate, value)

    def entropy(self) -> Any:
        return 1.0 - T.log(self.rate)

    def cdf(self, value: Any) -> Any:
        """The probability of at most ``value``."""
        return 1.0 - T.exp(-self.rate * like(self.rate, value))

    def icdf(self, value: Any) -> Any:
        """What is not exceeded with the probability ``value``."""
        return -T.log1p(-like(self.rate, value)) / self.rate

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Exponential, other)
        ratio = other.rate / self.rate
        return ratio - 1.0 - T.log(ratio)

    @property
    def _natural_parameters(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural: Any) -> Any:
        return -T.log(-natural[0])
