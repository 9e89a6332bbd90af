"""What distributions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy import tensor as T
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.tensor.engine import Tensor

__all__ = ["Distribution"]


class Distribution:
    """A distribution over ``batch_shape`` independent draws, each of ``event_shape``."""

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = ()) -> None:
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotSupported(f"{type(self).__name__}.mean")

    @property
    def variance(self) -> Any:
        raise NotSupported(f"{type(self).__name__}.variance")

    def sample(self, shape: Sequence[int] = ()) -> Any:
        """Draw ``shape`` times; no gradient flows through it."""
        raise NotSupported(f"{type(self).__name__}.sample")

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        """Draw ``shape`` times, so that gradients reach the parameters."""
        raise NotSupported(f"{type(self).__name__}.rsample")

    def entropy(self) -> Any:
        raise NotSupported(f"{type(self).__name__}.entropy")

    def log_prob(self, value: Tensor) -> Any:
        """The logarithm of the density, or of the probability, of ``value``."""
        raise NotSupported(f"{type(self).__name__}.log_prob")

    def prob(self, value: Tensor) -> Any:
        """The density, or the probability, of ``value``."""
        return self.log_prob(value).exp()

    def probs(self, value: Tensor) -> Any:
        """As ``prob``, under its name of 2.0."""
        return self.prob(value)

    def kl_divergence(self, other: Distribution) -> Any:
        """How far ``other``, of the same kind, is from this distribution."""
        raise NotSupported(f"kl_divergence of {type(self).__name__}")

    def _require_kind(self, kind: type, other: Any) -> None:
        if not isinstance(other, kind):
            raise NotSupported(
                f"kl_divergence between {type(self).__name__} and {type(other).__name__}"
            )

    def _extend_shape(self, sample_shape: Sequence[int]) -> list[int]:
        return [*sample_shape, *self._batch_shape, *self._event_shape]


def parameters(*values: Any) -> tuple[list[Any], Any]:
    """Parameters given as numbers, lists, arrays or Tensors as Tensors of one dtype and shape, and
    that dtype: that of the first Tensor or array of floats, float32 without one.
    """
    if len({_is_tensor(value) for value in values}) > 1:
        raise UsageError("if one argument is Tensor, all arguments should be Tensor")
    kinds = [value.dtype for value in values if hasattr(value, "dtype")]
    floats = [kind for kind in kinds if dtypes.from_any(kind).is_floating_point]
    kind = dtypes.from_any(floats[0]) if floats else dtypes.float32
    found = [_as_tensor(value, kind) for value in values]
    if len({tuple(value.shape) for value in found}) > 1:
        found = list(T.broadcast_tensors(found))
    return found, kind


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "block")


def _as_tensor(value: Any, kind: Any) -> Any:
    if _is_tensor(value):
        return value if value.dtype == kind else T.cast(value, kind)
    if not isinstance(value, (bool, int, float, list, tuple, np.ndarray, np.number)):
        raise DtypeError(
            "a parameter of a distribution must be a number, a list, an array or a Tensor, but is "
            f"{type(value).__name__}"
        )
    array = np.asarray(value, dtype="float64")
    return T.assign(array.astype(kind.name if kind.name != "bfloat16" else "float32")).astype(kind)


def like(parameter: Any, value: Any) -> Any:
    """``value`` in the dtype of a parameter."""
    return value if value.dtype == parameter.dtype else T.cast(value, parameter.dtype)
