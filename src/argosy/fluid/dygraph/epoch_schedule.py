"""Learning rates that change with the epoch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from argosy.fluid.dygraph.schedule import LearningRateDecay
from argosy.foundation.errors import DtypeError, UsageError


class EpochDecay(LearningRateDecay):
    """Schedules that go on when the script calls ``epoch()``, not with each ``minimize``."""

    def __init__(self, learning_rate: float, dtype: str | None = None) -> None:
        if not isinstance(learning_rate, (float, int)):
            raise DtypeError(
                f"{type(self).__name__}: learning_rate must be a float or int, but received "
                f"{learning_rate!r}"
            )
        if learning_rate < 0:
            raise UsageError(f"{type(self).__name__}: Invalid learning rate: {learning_rate}")
        super().__init__(dtype=dtype or "float32")
        self.base_lr = float(learning_rate)
        self.epoch_num = -1
        self.epoch()

    def _state_keys(self) -> None:
        self.keys = ["epoch_num", "learning_rate"]

    def peek(self) -> float:
        return self.learning_rate

    next_rate = peek

    def epoch(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``."""
        self.epoch_num = self.epoch_num + 1 if epoch is None else epoch
        self.learning_rate = float(self.get_lr())

    def get_lr(self) -> float:
        raise NotImplementedError(
            f"{type(self).__name__} does not define get_lr(); every schedule by epochs must"
        )


def _require_shrinking(owner: str, decay_rate: float) -> None:
    if decay_rate >= 1.0:
        raise UsageError(f"{owner}: decay_rate should be < 1.0, but received {decay_rate}")


class StepDecay(EpochDecay):
    """Times ``decay_rate`` every ``step_size`` epochs."""

    def __init__(self, learning_rate: float, step_size: int, decay_rate: float = 0.1) -> None:
        if not isinstance(step_size, int):
            raise DtypeError(f"StepDecay: step_size must be an int, but received {step_size!r}")
        _require_shrinking("StepDecay", decay_rate)
        self._every, self.decay_rate = step_size, decay_rate
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.decay_rate ** (self.epoch_num // self._every)


class MultiStepDecay(EpochDecay):
    """Times ``decay_rate`` at each milestone."""

    def __init__(
        self, learning_rate: float, milestones: Sequence[int], decay_rate: float = 0.1
    ) -> None:
        if any(a >= b for a, b in itertools.pairwise(milestones)):
            raise UsageError(
                f"MultiStepDecay: the milestones must increase, but received {milestones}"
            )
        _require_shrinking("MultiStepDecay", decay_rate)
        self.milestones, self.decay_rate = milestones, decay_rate
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.decay_rate ** sum(self.epoch_num >= m for m in self.milestones)


class LambdaDecay(EpochDecay):
    """base · lr_lambda(epoch)"""

    def __init__(self, learning_rate: float, lr_lambda: Callable[[int], float]) -> None:
        if not callable(lr_lambda):
            raise DtypeError(
                "LambdaDecay: lr_lambda must be a function, but received "
                f"{type(lr_lambda).__name__}"
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.epoch_num)
