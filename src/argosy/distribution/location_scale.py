"""Distributions that are one shape, moved by ``loc`` and stretched by ``scale``: of Laplace, Gumbel
and Cauchy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.foundation.errors import UsageError

__all__ = ["Cauchy", "Gumbel", "Laplace"]


class _LocationScale(Distribution):
    """What they share."""

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        (self.loc, self.scale), kind = parameters(loc, scale)
        self.dtype = kind.name
        super().__init__(self.loc.shape)

    def _standard(self, value: Any) -> Any:
        return (like(self.loc, value) - self.loc) / self.scale

    def _share(self, shape: Sequence[int]) -> Any:
        """Uniform numbers above 0 and below 1."""
        tiny = float(np.finfo(self.dtype).tiny)
        share = T.uniform(self._extend_shape(shape), self.dtype, 0.0, 1.0)
        return T.clip(share, tiny, 1.0 - float(np.finfo(self.dtype).eps))

    def sample(self, shape: Sequence[int] = (), name: str | None = None) -> Any:
        with no_grad():
            return self.rsample(shape)


class Laplace(_LocationScale):
    """Two exponential distributions, back to back.

    Example:
        >>> float(paddle.distribution.Laplace(0.0, 1.0).variance)
        2.0
    """

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Any:
        return 2.0 * self.scale * self.scale

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self.icdf(self._share(shape))

    def log_prob(self, value: Any) -> Any:
        return -T.log(2 * self.scale) - T.abs(self._standard(value))

    def entropy(self) -> Any:
        return 1 + T.log(2 * self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of at most ``value``."""
        offset = self._standard(value)
        return 0.5 - 0.5 * T.sign(offset) * T.expm1(-T.abs(offset))

    def icdf(self, value: Any) -> Any:
        """What is not exceeded with the probability ``value``."""
        offset = like(self.loc, value) - 0.5
        return self.loc - self.scale * T.sign(offset) * T.log1p(-2 * T.abs(offset))

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Laplace, other)
        ratio = other.scale / self.scale
        distance = T.abs(self.loc - other.loc)
        near = T.exp(-distance / self.scale) / ratio
        return T.log(ratio) + distance / other.scale + near - 1


class Gumbel(_LocationScale):
    """The greatest of many numbers."""

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc, scale)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * float(np.euler_gamma)

    @property
    def variance(self) -> Any:
        return self.scale * self.scale * (math.pi**2 / 6)

    @property
    def stddev(self) -> Any:
        return T.sqrt(self.variance)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self.loc - self.scale * T.log(-T.log(self._share(shape)))

    def log_prob(self, value: Any) -> Any:
        offset = -self._standard(value)
        return offset - T.exp(offset) - T.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of at most ``value``."""
        return T.exp(-T.exp(-self._standard(value)))

    def entropy(self) -> Any:
        return T.log(self.scale) + (1 + float(np.euler_gamma))


class Cauchy(_LocationScale):
    """The ratio of two normal numbers, which has neither mean nor variance."""

    @property
    def mean(self) -> Any:
        raise UsageError("Cauchy distribution has no mean.")

    @property
    def variance(self) -> Any:
        raise UsageError("Cauchy distribution has no variance.")

    @property
    def stddev(self) -> Any:
        raise UsageError("Cauchy distribution has no stddev.")

    def rsample(self, shape: Sequence[int] = (), name: str | None = None) -> Any:
        return self.loc + self.scale * T.tan(math.pi * (self._share(shape) - 0.5))

    def log_prob(self, value: Any) -> Any:
        offset = self._standard(value)
        return -T.log1p(offset * offset) - T.log(self.scale) - math.log(math.pi)

    def cdf(self, value: Any) -> Any:
        """The probability of at most ``value``."""
        return T.atan(self._standard(value)) / math.pi + 0.5

    def entropy(self) -> Any:
        return T.log(self.scale) + math.log(4 * math.pi)

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Cauchy, other)
        scales, offset = self.scale + other.scale, self.loc - other.loc
        squares = scales * scales + offset * offset
        return T.log(squares / (4 * self.scale * other.scale))
