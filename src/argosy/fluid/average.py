"""``fluid.average``: an average of what runs fetched."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import UsageError


class WeightedAverage:
    """The mean of numbers or arrays, each with a weight such as the size of its batch.

    Example:
        >>> import paddle.fluid as fluid
        >>> average = fluid.average.WeightedAverage()
        >>> average.add(value=2.0, weight=1)
        >>> average.add(value=4.0, weight=3)
        >>> average.eval()
        3.5
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget what was added."""
        self.numerator: Any = None
        self.denominator: Any = None

    def add(self, value: Any, weight: Any) -> None:
        """Add a value."""
        if not isinstance(value, (int, float, np.number, np.ndarray)):
            raise UsageError(
                "WeightedAverage.add: value must be a number or an array, but received "
                f"{type(value).__name__}"
            )
        if not isinstance(weight, (int, float, np.number)) and np.shape(weight) != (1,):
            raise UsageError(
                f"WeightedAverage.add: weight must be a number, but received {weight!r}"
            )
        first = self.numerator is None
        self.numerator = value * weight if first else self.numerator + value * weight
        self.denominator = weight if first else self.denominator + weight

    def eval(self) -> Any:
        """The average of what was added since the last ``reset``."""
        if self.numerator is None:
            raise UsageError("WeightedAverage.eval: there is no data to be averaged")
        return self.numerator / self.denominator
