"""Independent draws taken as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.distribution.distribution import Distribution
from argosy.foundation.errors import DtypeError, UsageError

__all__ = ["Independent"]


class Independent(Distribution):
    """``base`` with its last ``reinterpreted_batch_rank`` axes of draws as parts of one."""

    def __init__(self, base: Distribution, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Distribution):
            raise DtypeError(f"Expected type of 'base' is Distribution, but got {type(base)}")
        rank = len(base.batch_shape)
        if not 0 < reinterpreted_batch_rank <= rank:
            raise UsageError(
                f"Expected 0 < reinterpreted_batch_rank <= {rank}, but got "
                f"{reinterpreted_batch_rank}"
            )
        self._base = base
        self._reinterpreted_batch_rank = reinterpreted_batch_rank
        shape = base.batch_shape + base.event_shape
        cut = rank - reinterpreted_batch_rank
        super().__init__(shape[:cut], shape[cut:])

    @property
    def mean(self) -> Any:
        return self._base.mean

    @property
    def variance(self) -> Any:
        return self._base.variance

    def sample(self, shape: Sequence[int] = ()) -> Any:
        return self._base.sample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self._base.rsample(shape)

    def _added(self, value: Any) -> Any:
        return T.sum(value, list(range(-self._reinterpreted_batch_rank, 0)))

    def log_prob(self, value: Any) -> Any:
        return self._added(self._base.log_prob(value))

    def entropy(self) -> Any:
        return self._added(self._base.entropy())

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Independent, other)
        return self._added(self._base.kl_divergence(other._base))
