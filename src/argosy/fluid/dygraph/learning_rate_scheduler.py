"""The learning-rate schedules of 1.x: an optimizer calls one once per ``minimize``, which gives the
rate and takes a step.

A call returns a Tensor of shape [1], as in Paddle; optimizers read the plain number from
``next_rate``.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import BadArgument, CheckpointError, DtypeError, UsageError
from argosy.tensor import full
from argosy.tensor.engine import Tensor


class ScheduleStateMissing(CheckpointError, RuntimeError):
    """A saved schedule lacks an entry."""


class LearningRateDecay:
    """Base class: a subclass defines ``step``, the rate at ``step_num``."""

    def __init__(self, begin: int = 0, step: int = 1, dtype: str = "float32") -> None:
        self.step_num = begin
        self.step_size = step
        self.dtype = dtype

    def step(self) -> Any:
        """The rate at the current step, as a number."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define step(); every schedule must"
        )

    def peek(self) -> float:
        """The rate that the next call gives."""
        return float(self.step())

    def next_rate(self) -> float:
        """The rate at the current step; then go on by one."""
        rate = self.peek()
        self.step_num += self.step_size
        return rate

    def __call__(self) -> Any:
        return self.create_lr_var(self.next_rate())

    def create_lr_var(self, lr: float) -> Any:
        return full([1], float(lr), self.dtype)

    def _state_keys(self) -> None:
        self.keys = ["step_num"]

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here."""
        self._state_keys()
        own = {key: self.__dict__[key] for key in self.keys if key in self.__dict__}
        return {
            key: value.numpy().reshape(-1)[0] if isinstance(value, Tensor) else value
            for key, value in own.items()
        }

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave."""
        self._state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise ScheduleStateMissing(
                    f"{type(self).__name__}.set_dict: Can't find [ {key} ] in state_dict; it has "
                    f"{sorted(state_dict)}"
                )
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            warnings.warn(
                f"{type(self).__name__}.set_dict: there are some unused values in state_dict; "
                "maybe it was saved with another schedule",
                stacklevel=2,
            )

    set_state_dict = set_dict


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


# -- by epochs


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


# -- by the loss


class ReduceLROnPlateau(LearningRateDecay):
    """Times ``decay_rate`` when ``step(loss)`` has seen no better loss for more than ``patience``
    calls.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        decay_rate: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        eps: float = 1e-8,
        dtype: str = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        if mode.lower() not in ("min", "max"):
            raise UsageError(f"ReduceLROnPlateau: mode {mode} is unknown!")
        if decay_rate >= 1.0:
            raise UsageError(
                f"ReduceLROnPlateau: decay_rate should be < 1.0, but received {decay_rate}"
            )
        if threshold_mode.lower() not in ("rel", "abs"):
            raise UsageError(f"ReduceLROnPlateau: threshold mode {threshold_mode} is unknown!")
        self.learning_rate = float(learning_rate)
        self.mode, self.threshold_mode, self.threshold = (
            mode.lower(),
            threshold_mode.lower(),
            threshold,
        )
        self.decay_rate, self.min_lr, self.eps = decay_rate, min_lr, eps
        self.patience, self.cooldown, self.verbose = patience, cooldown, verbose
        self.best_loss: Any = None  # a Tensor of shape [1], a number if loaded
        self.cooldown_counter = self.num_bad_epochs = self.epoch_num = 0

    def _state_keys(self) -> None:
        self.keys = [
            "cooldown_counter",
            "best_loss",
            "num_bad_epochs",
            "epoch_num",
            "learning_rate",
        ]

    def peek(self) -> float:
        return self.learning_rate

    next_rate = peek

    def step(self, loss: Any = None) -> None:
        """Take note of a loss of one element."""
        if not isinstance(loss, Tensor) or loss.size != 1:
            raise BadArgument(
                "ReduceLROnPlateau.step: the loss must be a Tensor of one element; "
                "fluid.layers.mean gives one"
            )
        value = float(loss)
        self.epoch_num += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best_loss is None or self._is_better(value, float(self.best_loss)):
            self.best_loss, self.num_bad_epochs = loss.detach(), 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lower = max(self.learning_rate * self.decay_rate, self.min_lr)
            if self.learning_rate - lower > self.eps:
                if self.verbose:
                    print(
                        f"Epoch {self.epoch_num}: reducing learning rate from "
                        f"{self.learning_rate} to {lower}."
                    )
                self.learning_rate = lower

    def _is_better(self, current: float, best: float) -> bool:
        margin = self.threshold * (best if self.threshold_mode == "rel" else 1.0)
        return current < best - margin if self.mode == "min" else current > best + margin
