"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.tensor.engine import Tensor
from argosy.tensor.random import gaussian

__all__ = ["Normal"]


class Normal(Distribution):
    """Around ``loc`` with the standard deviation ``scale``.

    Example:
        >>> normal = paddle.distribution.Normal(0.0, 1.0)
        >>> round(float(normal.entropy()), 4)
        1.4189
    """

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.name = name or "Normal"
        (self.loc, self.scale), kind = parameters(loc, scale)
        self.dtype = kind.name
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.scale * self.scale

    @property
    def stddev(self) -> Any:
        return self.scale

    def sample(self, shape: Sequence[int] = (), seed: int = 0) -> Any:
        with no_grad():
            return self._draw(shape, seed)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self._draw(shape, 0)

    def _draw(self, shape: Sequence[int], seed: int) -> Any:
        noise = gaussian(self._extend_shape(shape), 0.0, 1.0, seed, self.dtype)
        return self.loc + noise * self.scale

    def entropy(self) -> Any:
        return T.log(self.scale) + (0.5 + 0.5 * math.log(2 * math.pi))

    def log_prob(self, value: Tensor) -> Any:
        offset = (like(self.loc, value) - self.loc) / self.scale
        return -0.5 * offset * offset - T.log(self.scale) - math.log(math.sqrt(2 * math.pi))

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Normal, other)
        ratio = self.scale / other.scale
        offset = (self.loc - other.loc) / other.scale
        return 0.5 * (ratio * ratio + offset * offset - 1.0) - T.log(ratio)
