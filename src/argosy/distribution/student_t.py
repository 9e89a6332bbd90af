"""Student's distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.distribution.gamma import Chi2
from argosy.foundation.errors import UsageError
from argosy.tensor.random import gaussian

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a mean of ``df`` squares, moved and stretched."""

    def __init__(self, df: Any, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or "StudentT"
        (self.df, self.loc, self.scale), kind = parameters(df, loc, scale)
        self.dtype = kind.name
        for word, value in (("df", self.df), ("scale", self.scale)):
            if not bool((value > 0).all()):
                raise UsageError(
                    f"Every element of input parameter `{word}` should be nonnegative."
                )
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape)

    @property
    def mean(self) -> Any:
        return T.where(self.df > 1, self.loc, T.full_like(self.loc, math.nan))

    @property
    def variance(self) -> Any:
        squares = self.scale * self.scale
        wide = squares * self.df / T.clip(self.df - 2, 1e-12)
        spread = T.where(self.df > 2, wide, T.full_like(wide, math.inf))
        return T.where(self.df > 1, spread, T.full_like(wide, math.nan))

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            noise = gaussian(self._extend_shape(shape), 0.0, 1.0, 0, self.dtype)
            return self.loc + self.scale * noise * T.rsqrt(self._chi2.sample(shape) / self.df)

    def log_prob(self, value: Any) -> Any:
        offset = (like(self.loc, value) - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        constant = (
            T.log(self.scale)
            + 0.5 * T.log(self.df)
            + 0.5 * math.log(math.pi)
            + T.lgamma(0.5 * self.df)
            - T.lgamma(half)
        )
        return -half * T.log1p(offset * offset / self.df) - constant

    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1.0)
        log_beta = T.lgamma(0.5 * self.df) + 0.5 * math.log(math.pi) - T.lgamma(half)
        slope = T.digamma(half) - T.digamma(0.5 * self.df)
        return T.log(self.scale) + half * slope + 0.5 * T.log(self.df) + log_beta
