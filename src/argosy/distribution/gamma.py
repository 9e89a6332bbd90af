"""The gamma distribution, and the one of squares that is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import like, parameters
from argosy.distribution.exponential_family import ExponentialFamily

__all__ = ["Chi2", "Gamma"]


class Gamma(ExponentialFamily):
    """With the shape ``concentration`` and the inverse scale ``rate``.

    Example:
        >>> float(paddle.distribution.Gamma(3.0, 2.0).mean)
        1.5
    """

    def __init__(self, concentration: Any, rate: Any) -> None:
        (self.concentration, self.rate), _ = parameters(concentration, rate)
        super().__init__(self.concentration.shape)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        return self.concentration / (self.rate * self.rate)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        extents = self._extend_shape(shape)
        drawn = T.standard_gamma(T.expand(self.concentration, extents))
        return drawn / T.expand(self.rate, extents)

    def log_prob(self, value: Any) -> Any:
        value = like(self.rate, value)
        shape, rate = self.concentration, self.rate
        return shape * T.log(rate) + (shape - 1) * T.log(value) - rate * value - T.lgamma(shape)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - T.log(self.rate) + T.lgamma(shape) + (1.0 - shape) * T.digamma(shape)

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Gamma, other)
        own, others = self.concentration, other.concentration
        return (
            others * T.log(self.rate / other.rate)
            + T.lgamma(others)
            - T.lgamma(own)
            + (own - others) * T.digamma(own)
            + (other.rate - self.rate) * (own / self.rate)
        )

    @property
    def _natural_parameters(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural: Any) -> Any:
        x, y = natural
        return T.lgamma(x + 1) + (x + 1) * T.log(-1.0 / y)


class Chi2(Gamma):
    """The sum of ``df`` squares of normal numbers."""

    def __init__(self, df: Any) -> None:
        (self.df,), _ = parameters(df)
        super().__init__(self.df * 0.5, T.full_like(self.df, 0.5))
