"""``fluid.metrics``: averages over batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.fluid._missing import missing_names
from argosy.foundation.errors import UsageError

__all__ = ["Accuracy"]


class Accuracy:
    """The mean of the accuracies of batches, weighted by their sizes.

    Example:
        >>> import paddle.fluid as fluid
        >>> metric = fluid.metrics.Accuracy()
        >>> metric.update(value=1.0, weight=3)
        >>> metric.update(value=0.5, weight=1)
        >>> metric.eval()
        0.875
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__
        self.reset()

    def reset(self) -> None:
        self.value = self.weight = 0.0

    def update(self, value: Any, weight: Any) -> None:
        """Add a batch: its accuracy and its size, as numbers, arrays or Tensors of one element."""
        size = float(np.asarray(weight).reshape(-1)[0])
        if size < 0:
            raise UsageError(f"Accuracy.update: weight can not be negative, but received {size:g}")
        self.value += float(np.asarray(value).reshape(-1)[0]) * size
        self.weight += size

    def eval(self) -> float:
        """The mean so far."""
        if self.weight == 0:
            raise UsageError("Accuracy.eval: there is no data; call update() with the accuracy of a batch first")
        return self.value / self.weight


__getattr__ = missing_names(__name__, globals())
