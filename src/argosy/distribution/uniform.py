"""The uniform distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.tensor.engine import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Between ``low`` and ``high``.

    Example:
        >>> uniform = paddle.distribution.Uniform(1.0, 3.0)
        >>> float(uniform.probs(paddle.to_tensor(2.0)))
        0.5
    """

    def __init__(self, low: Any, high: Any, name: str | None = None) -> None:
        self.name = name or "Uniform"
        (self.low, self.high), kind = parameters(low, high)
        self.dtype = kind.name
        super().__init__(self.low.shape)

    @property
    def mean(self) -> Any:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    def sample(self, shape: Sequence[int] = (), seed: int = 0) -> Any:
        with no_grad():
            return self._draw(shape, seed)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self._draw(shape, 0)

    def _draw(self, shape: Sequence[int], seed: int) -> Any:
        share = T.uniform(self._extend_shape(shape), self.dtype, 0.0, 1.0, seed)
        return self.low + share * (self.high - self.low)

    def prob(self, value: Tensor) -> Any:
        return self._inside(value) / (self.high - self.low)

    def log_prob(self, value: Tensor) -> Any:
        return T.log(self._inside(value)) - T.log(self.high - self.low)

    def _inside(self, value: Tensor) -> Any:
        """1 strictly between the bounds, 0 elsewhere."""
        value = like(self.low, value)
        return T.cast(T.logical_and(self.low < value, value < self.high), self.low.dtype)

    def entropy(self) -> Any:
        return T.log(self.high - self.low)

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Uniform, other)
        return T.log((other.high - other.low) / (self.high - self.low))
