"""Distributions over counts: of failures, of successes, of events, of each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like, parameters
from argosy.foundation.errors import UsageError
from argosy.framework import finfo
from argosy.nn import functional as F

__all__ = ["Binomial", "Geometric", "Multinomial", "Poisson"]


class Geometric(Distribution):
    """Failures before the first success, which has the probability ``probs``."""

    probs: Any  # in the base it is a method

    def __init__(self, probs: Any) -> None:
        (self.probs,), kind = parameters(probs)
        self._kind = kind.name
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    @property
    def stddev(self) -> Any:
        return T.sqrt(self.variance)

    def pmf(self, k: Any) -> Any:
        """The probability of ``k``."""
        return T.pow(1.0 - self.probs, k) * self.probs

    def log_pmf(self, k: Any) -> Any:
        """Its logarithm."""
        return T.log(self.pmf(k))

    def log_prob(self, value: Any) -> Any:
        return self.log_pmf(value)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        share = T.uniform(self._extend_shape(shape), self._kind, finfo(self._kind).tiny, 1.0)
        return T.floor(T.log(share) / T.log1p(-self.probs))

    def entropy(self) -> Any:
        left = 1.0 - self.probs
        return -(left * T.log(left) + self.probs * T.log(self.probs)) / self.probs

    def cdf(self, k: Any) -> Any:
        """The probability of at most ``k``."""
        return 1.0 - T.pow(1.0 - self.probs, k + 1)

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Geometric, other)
        own, others = self.probs, other.probs
        left = (1.0 - own) * T.log((1.0 - own) / (1.0 - others))
        return own * T.log(own / others) + left  # as in Paddle, that of one trial


class Poisson(Distribution):
    """Events that come at ``rate``."""

    def __init__(self, rate: Any) -> None:
        (self.rate,), kind = parameters(_listed(rate))
        self.dtype = kind.name
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def variance(self) -> Any:
        return self.rate

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return T.poisson(T.expand(self.rate, self._extend_shape(shape)))

    def log_prob(self, value: Any) -> Any:
        value = like(self.rate, value)
        tiny = finfo(self.dtype).eps
        return value * T.log(self.rate + tiny) - self.rate - T.lgamma(value + 1)

    def entropy(self) -> Any:
        """By adding up what is near the mean."""
        bound = int((self.rate + 30 * T.sqrt(self.rate)).max()) + 1
        values = T.arange(0, bound, 1, self.dtype)
        values = T.reshape(values, [-1, *[1] * len(self.rate.shape)])
        logs = self.log_prob(values)
        summed = -T.sum(T.exp(logs) * logs, 0)
        return T.where(self.rate > 0, summed, T.zeros_like(self.rate))

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Poisson, other)
        tiny = finfo(self.dtype).eps
        logs = T.log(self.rate + tiny) - T.log(other.rate + tiny)
        return self.rate * logs - self.rate + other.rate


def _listed(value: Any) -> Any:
    """A number as a list of it: Paddle makes vectors of length 1 of them here."""
    return [value] if isinstance(value, (int, float)) else value


class Binomial(Distribution):
    """Successes among ``total_count``, each with the probability ``probs``."""

    probs: Any  # in the base it is a method

    def __init__(self, total_count: Any, probs: Any) -> None:
        (self.probs,), kind = parameters(probs)
        self.dtype = kind.name
        counts = total_count if hasattr(total_count, "shape") else T.full([], total_count)
        self.total_count, self.probs = T.broadcast_tensors([like(self.probs, counts), self.probs])
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        extents = self._extend_shape(shape)
        with no_grad():
            counts = T.cast(T.expand(self.total_count, extents), "int64")
            return T.cast(T.binomial(counts, T.expand(self.probs, extents)), self.dtype)

    def log_prob(self, value: Any) -> Any:
        value, count = like(self.probs, value), self.total_count
        tiny = finfo(self.dtype).eps
        probs = T.clip(self.probs, tiny, 1 - tiny)
        ways = T.lgamma(count + 1) - T.lgamma(count - value + 1) - T.lgamma(value + 1)
        return ways + value * T.log(probs) + (count - value) * T.log(1 - probs)

    def entropy(self) -> Any:
        """By adding up all counts."""
        values = T.arange(0, int(self.total_count.max()) + 1, 1, self.dtype)
        values = T.reshape(values, [-1, *[1] * len(self.probs.shape)])
        logs = self.log_prob(values)
        is_there = values <= self.total_count
        return -T.sum(T.where(is_there, T.exp(logs) * logs, T.zeros_like(logs)), 0)

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Binomial, other)
        tiny = finfo(self.dtype).eps
        own, others = (T.clip(x.probs, tiny, 1 - tiny) for x in (self, other))
        each = own * T.log(own / others) + (1 - own) * T.log((1 - own) / (1 - others))
        return self.total_count * each


class Multinomial(Distribution):
    """How often each outcome comes among ``total_count`` draws with the weights ``probs``."""

    probs: Any  # in the base it is a method

    def __init__(self, total_count: int, probs: Any) -> None:
        if not isinstance(total_count, int) or total_count < 1:
            raise UsageError("input parameter total_count must be int type and grater than zero.")
        if len(probs.shape) < 1:
            raise UsageError("probs parameter should not be none and over one dimension")
        self.probs = probs / T.sum(probs, -1, keepdim=True)
        self.total_count = total_count
        super().__init__(probs.shape[:-1], probs.shape[-1:])

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value: Any) -> Any:
        value = like(self.probs, value)
        logs = T.log(self.probs)
        powers = T.where(value == 0, T.zeros_like(logs * value), logs * value)
        ways = T.lgamma(T.sum(value, -1) + 1) - T.sum(T.lgamma(value + 1), -1)
        return ways + T.sum(powers, -1)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        *batch, count = list(self.probs.shape)
        with no_grad():
            extents = [*shape, *batch]
            weights = T.reshape(T.expand(self.probs, [*extents, count]), [-1, count])
            drawn = T.multinomial(weights, self.total_count, replacement=True)
            counts = T.sum(F.one_hot(drawn, count), -2)
            return T.cast(T.reshape(counts, [*extents, count]), self.probs.dtype)

    def entropy(self) -> Any:
        n = self.total_count
        values = T.arange(1, n + 1, 1, self.probs.dtype)
        values = T.reshape(values, [-1, *[1] * len(self.probs.shape)])
        each = Binomial(n, self.probs).prob(values) * T.lgamma(values + 1)
        logs = T.sum(self.probs * T.log(self.probs), -1)
        ways = T.lgamma(T.full([], n + 1, self.probs.dtype))
        return -n * logs - ways + T.sum(each, [0, -1])
