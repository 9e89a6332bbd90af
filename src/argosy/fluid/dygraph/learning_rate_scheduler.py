"""The learning-rate schedules of 1.x: an optimizer calls one once per ``minimize``, which gives the
rate and takes a step.

A call returns a Tensor of shape [1], as in Paddle; optimizers read the plain number from
``next_rate``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from argosy.fluid.dygraph._plateau import ReduceLROnPlateau
from argosy.fluid.dygraph.epoch_schedule import LambdaDecay, MultiStepDecay, StepDecay
from argosy.fluid.dygraph.schedule import LearningRateDecay
from argosy.foundation.errors import BadArgument, DtypeError

__all__ = [
    "CosineDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LambdaDecay",
    "LinearLrWarmup",
    "MultiStepDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceLROnPlateau",
    "StepDecay",
]


class PiecewiseDecay(LearningRateDecay):
    """``values[i]`` while the step is below ``boundaries[i]``, the last value afterwards.

    Example:
        >>> import paddle.fluid as fluid
        >>> rate = fluid.dygraph.PiecewiseDecay([2], [1.0, 0.5], begin=0)
        >>> [rate().item() for _ in range(3)]
        [1.0, 1.0, 0.5]
    """

    def __init__(
        self,
        boundaries: Sequence[int],
        values: Sequence[float],
        begin: int,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        super().__init__(begin, step, dtype)
        self.boundaries, self.values = boundaries, values

    def step(self) -> float:
        for boundary, value in zip(self.boundaries, self.values, strict=False):
            if self.step_num < boundary:
                return value
        return self.values[-1]


class _Rated(LearningRateDecay):
    """What the schedules by decay_steps and decay_rate have in common."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
        begin: int = 0,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.decay_rate, self.staircase = (
            learning_rate,
            decay_steps,
            decay_rate,
            staircase,
        )

    def _progress(self) -> float:
        periods = self.step_num / self.decay_steps
        return math.floor(periods) if self.staircase else periods


class NaturalExpDecay(_Rated):
    """base · e^(-decay_rate · periods)"""

    def step(self) -> float:
        return self.learning_rate * math.exp(-self.decay_rate * self._progress())


class ExponentialDecay(_Rated):
    """base · decay_rate^periods"""

    def step(self) -> float:
        return float(self.learning_rate * self.decay_rate ** self._progress())


class InverseTimeDecay(_Rated):
    """base / (1 + decay_rate · periods)"""

    def step(self) -> float:
        return self.learning_rate / (1 + self.decay_rate * self._progress())


class PolynomialDecay(LearningRateDecay):
    """From base to ``end_learning_rate`` along (1 - progress)^power; ``cycle`` starts ever longer
    rounds.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        begin: int = 0,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        super().__init__(begin, step, dtype)
        self.learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power, self.cycle = decay_steps, power, cycle

    def step(self) -> float:
        done, total = self.step_num, self.decay_steps
        if self.cycle:
            total *= math.ceil(done / total) if done else 1
        else:
            done = min(done, total)
        share_left: float = (1 - done / total) ** self.power
        return (self.learning_rate - self.end_learning_rate) * share_left + self.end_learning_rate


class CosineDecay(LearningRateDecay):
    """Half a cosine over ``epochs``, constant within each ``step_each_epoch`` steps."""

    def __init__(
        self,
        learning_rate: float,
        step_each_epoch: int,
        epochs: int,
        begin: int = 0,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        super().__init__(begin, step, dtype)
        self.learning_rate, self.step_each_epoch, self.epochs = (
            learning_rate,
            step_each_epoch,
            epochs,
        )

    def step(self) -> float:
        epoch = math.floor(self.step_num / self.step_each_epoch)
        return self.learning_rate * 0.5 * (math.cos(epoch * math.pi / self.epochs) + 1)


class NoamDecay(LearningRateDecay):
    """Linear warm-up, then decay with the root of the step; scaled by the root of ``d_model``."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        begin: int = 1,
        step: int = 1,
        dtype: str = "float32",
        learning_rate: float = 1.0,
    ) -> None:
        super().__init__(begin, step, dtype)
        self.learning_rate, self.d_model, self.warmup_steps = learning_rate, d_model, warmup_steps

    def step(self) -> float:
        falling, rising = (
            math.pow(self.step_num, -0.5),
            math.pow(self.warmup_steps, -1.5) * self.step_num,
        )
        return self.learning_rate * math.pow(self.d_model, -0.5) * min(falling, rising)


class LinearLrWarmup(LearningRateDecay):
    """A line from zero for ``warmup_steps`` steps, as steep as from ``start_lr`` to ``end_lr``;
    then ``learning_rate``.

    A schedule as ``learning_rate`` goes on by a step in every call, during the warm-up too.
    """

    def __init__(
        self,
        learning_rate: float | LearningRateDecay,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        begin: int = 1,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        super().__init__(begin, step, dtype)
        if not isinstance(learning_rate, (int, float, LearningRateDecay)):
            raise DtypeError(
                "LinearLrWarmup: learning_rate must be an int, a float or a LearningRateDecay, "
                f"but received {type(learning_rate).__name__}"
            )
        if end_lr <= start_lr:
            raise BadArgument(
                f"LinearLrWarmup: end_lr {end_lr} must be greater than start_lr {start_lr}"
            )
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.lr_ratio_before_warmup = (float(end_lr) - float(start_lr)) / float(warmup_steps)

    def step(self) -> float:
        base = (
            self.learning_rate.next_rate()
            if isinstance(self.learning_rate, LearningRateDecay)
            else self.learning_rate
        )
        return (
            self.lr_ratio_before_warmup * self.step_num
            if self.step_num < self.warmup_steps
            else base
        )
