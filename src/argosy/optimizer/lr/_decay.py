"""Schedulers that only ever follow a formula of the epoch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from argosy.foundation.errors import UsageError
from argosy.optimizer.lr._base import LRScheduler, require, require_callable, require_type


class NoamDecay(LRScheduler):
    """Linear warm-up, then decay with the root of the epoch; scaled by the root of ``d_model``."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if d_model <= 0:
            raise UsageError(f"NoamDecay: d_model must be greater than 0, but received {d_model}")
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        falling = math.pow(self.last_epoch, -0.5) if self.last_epoch else 1.0
        rising = self.last_epoch * math.pow(self.warmup_steps, -1.5)
        return self.base_lr * math.pow(self.d_model, -0.5) * min(falling, rising)


class PiecewiseDecay(LRScheduler):
    """``values[i]`` while the epoch is below ``boundaries[i]``, the last value afterwards.

    Example:
        >>> import paddle
        >>> scheduler = paddle.optimizer.lr.PiecewiseDecay(boundaries=[1, 2], values=[0.1, 0.01,
        ...     0.001])
        >>> for _ in range(3):
        ...     print(scheduler())
        ...     scheduler.step()
        0.1
        0.01
        0.001
    """

    def __init__(
        self,
        boundaries: Sequence[int],
        values: Sequence[float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if len(boundaries) == 0:
            raise UsageError("PiecewiseDecay: The boundaries cannot be empty.")
        if len(values) <= len(boundaries):
            raise UsageError(
                "PiecewiseDecay: values must have one more element than boundaries, "
                f"but received {len(values)} values and {len(boundaries)} boundaries"
            )
        self.boundaries = boundaries
        self.values = values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        for boundary, value in zip(self.boundaries, self.values, strict=False):
            if self.last_epoch < boundary:
                return value
        return self.values[-1]


class NaturalExpDecay(LRScheduler):
    """base · e^(-gamma · epoch)"""

    def __init__(
        self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        require(gamma > 0.0, f"NaturalExpDecay: gamma must be positive, but received {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """base / (1 + gamma · epoch)"""

    def __init__(
        self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From base to ``end_lr`` over ``decay_steps`` along (1 - progress)^power; ``cycle`` starts
    ever longer rounds.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require(
            decay_steps > 0 and isinstance(decay_steps, int),
            f"PolynomialDecay: decay_steps must be a positive integer, but received {decay_steps}",
        )
        require(
            power > 0.0, f"PolynomialDecay: power must be greater than 0.0, but received {power}"
        )
        self.decay_steps = decay_steps
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= math.ceil(epoch / steps) if epoch else 1
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * math.pow(1 - epoch / steps, self.power) + self.end_lr


class ExponentialDecay(LRScheduler):
    """base · gamma^epoch"""

    def __init__(
        self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        require(
            0.0 < gamma < 1.0,
            f"ExponentialDecay: gamma must be in (0.0, 1.0), but received {gamma}",
        )
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma**self.last_epoch


def _require_shrinking(scheduler: str, gamma: float) -> None:
    if gamma >= 1.0:
        raise UsageError(f"{scheduler}: gamma should be < 1.0, but received {gamma}")


class MultiStepDecay(LRScheduler):
    """Times ``gamma`` at each milestone."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_type(milestones, (tuple, list), "MultiStepDecay: milestones")
        if any(a >= b for a, b in itertools.pairwise(milestones)):
            raise UsageError(
                "MultiStepDecay: The elements of milestones must be incremented, but received "
                f"{milestones}"
            )
        _require_shrinking("MultiStepDecay", gamma)
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        passed = sum(self.last_epoch >= milestone for milestone in self.milestones)
        return self.base_lr * self.gamma**passed


class StepDecay(LRScheduler):
    """Times ``gamma`` every ``step_size`` epochs."""

    def __init__(
        self,
        learning_rate: float,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_type(step_size, (int,), "StepDecay: step_size")
        _require_shrinking("StepDecay", gamma)
        require(
            step_size > 0,
            f"StepDecay: step_size must be a positive integer, but received {step_size}",
        )
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(LRScheduler):
    """base · lr_lambda(epoch)"""

    def __init__(
        self,
        learning_rate: float,
        lr_lambda: Callable[[int], float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_callable(lr_lambda, "LambdaDecay: lr_lambda")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """base · lr_lambda(1) · … · lr_lambda(epoch)"""

    def __init__(
        self,
        learning_rate: float,
        lr_lambda: Callable[[int], float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_callable(lr_lambda, "MultiplicativeDecay: lr_lambda")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate *= self.lr_lambda(epoch)
        return rate


class LinearLR(LRScheduler):
    """From base·start_factor to base·end_factor in equal steps, then constant.

    ``step(epoch)`` goes on from the previous rate as ``step()`` does, as in Paddle: only
    consecutive epochs give the line.
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise UsageError(
                f"LinearLR: start_factor must be in (0, 1], but received {start_factor}"
            )
        if not 0 <= end_factor <= 1.0:
            raise UsageError(f"LinearLR: end_factor must be in [0, 1], but received {end_factor}")
        if total_steps <= 0:
            raise UsageError(
                f"LinearLR: total_steps must be greater than 0, but received {total_steps}"
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        slope = self.end_factor - self.start_factor
        return self.last_lr * (
            1.0 + slope / (self.total_steps * self.start_factor + (self.last_epoch - 1) * slope)
        )
