"""What every metric offers."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from argosy.foundation.errors import UsageError
from argosy.tensor.engine import Tensor


class Metric(abc.ABC):
    """A quantity over many batches: ``update`` counts one, ``accumulate`` gives the value so far,
    ``reset`` starts anew.

    ``compute`` runs first, on Tensors; what it returns is what ``update`` gets, as arrays.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forget every batch."""

    @abc.abstractmethod
    def update(self, *args: Any) -> Any:
        """Count a batch."""

    @abc.abstractmethod
    def accumulate(self) -> Any:
        """The value over the batches since ``reset``."""

    @abc.abstractmethod
    def name(self) -> Any:
        """The name, or names, to print the value with."""

    def compute(self, *args: Any) -> Any:
        """Reduce outputs and labels to what ``update`` needs; by default they pass through."""
        return args


def as_array(metric: Metric, argument: str, value: Any) -> np.ndarray:
    """The array behind a Tensor or array that a script passed."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    raise UsageError(
        f"{type(metric).__name__}.update: {argument!r} must be a numpy ndarray or Tensor, but "
        f"received {type(value).__name__}"
    )
