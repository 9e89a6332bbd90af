"""The exponential of a normal number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.distribution.distribution import Distribution, like
from argosy.distribution.normal import Normal

__all__ = ["LogNormal"]


class LogNormal(Distribution):
    """What has a logarithm around ``loc`` with the standard deviation ``scale``."""

    def __init__(self, loc: Any, scale: Any) -> None:
        self._base = Normal(loc, scale)
        self.loc, self.scale = self._base.loc, self._base.scale
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Any:
        return T.exp(self.loc + self._base.variance / 2)

    @property
    def variance(self) -> Any:
        spread = self._base.variance
        return T.expm1(spread) * T.exp(2 * self.loc + spread)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        return T.exp(self._base.sample(shape))

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return T.exp(self._base.rsample(shape))

    def log_prob(self, value: Any) -> Any:
        logs = T.log(like(self.loc, value))
        return self._base.log_prob(logs) - logs

    def entropy(self) -> Any:
        return self._base.entropy() + self.loc

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(LogNormal, other)
        return self._base.kl_divergence(other._base)
