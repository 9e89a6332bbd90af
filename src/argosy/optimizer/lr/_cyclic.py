"""Schedulers that go up and down: cosine annealing, with and without restarts, and the cyclic
policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from argosy.foundation.errors import UsageError
from argosy.optimizer.lr._base import LRScheduler, require, require_type


class CosineAnnealingDecay(LRScheduler):
    """Half a cosine from base to ``eta_min`` in ``T_max`` epochs, and back.

    ``step()`` goes on from the previous rate, so a rate set by hand carries on; ``step(epoch)``
    uses the closed form.
    """

    def __init__(
        self,
        learning_rate: float,
        T_max: int,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_type(T_max, (int,), "CosineAnnealingDecay: T_max")
        require_type(eta_min, (float, int), "CosineAnnealingDecay: eta_min")
        require(
            T_max > 0,
            f"CosineAnnealingDecay: T_max must be a positive integer, but received {T_max}",
        )
        self.T_max = T_max
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> float:
        epoch = self.last_epoch
        if epoch == 0:
            return self.base_lr
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The previous rate is eta_min, from which no ratio leads away.
            return (
                self.last_lr
                + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
            )
        return (
            self._height(epoch) / self._height(epoch - 1) * (self.last_lr - self.eta_min)
            + self.eta_min
        )

    def _get_closed_form_lr(self) -> float:
        return self.eta_min + (self.base_lr - self.eta_min) * self._height(self.last_epoch) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after ``T_0`` epochs, each round ``T_mult`` times as long
    as the last.
    """

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise UsageError(
                f"CosineAnnealingWarmRestarts: Expected positive integer T_0, but got {T_0}"
            )
        if T_mult < 1 or not isinstance(T_mult, int):
            raise UsageError(
                f"CosineAnnealingWarmRestarts: Expected integer T_mult >= 1, but got {T_mult}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return (
            self.eta_min
            + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        )

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, which may be fractional."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self.last_lr = self.get_lr()
        self._report()

    def _jump(self, epoch: float) -> None:
        if epoch < 0:
            raise UsageError(
                f"CosineAnnealingWarmRestarts.step: Expected non-negative epoch, but got {epoch}"
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            rounds = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**rounds - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**rounds


def _cosine(start: float, end: float, progress: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * progress) + 1)


def _line(start: float, end: float, progress: float) -> float:
    return (end - start) * progress + start


class OneCycleLR(LRScheduler):
    """One rise to ``max_learning_rate`` and one fall to ``end_learning_rate`` over ``total_steps``.

    ``phase_pct`` is the share of the rise; ``three_phase`` falls first to the initial rate in as
    many steps, then to the end.
    """

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        for name, value in (
            ("max_learning_rate", max_learning_rate),
            ("end_learning_rate", end_learning_rate),
        ):
            require_type(value, (float, int), f"OneCycleLR: {name}")
            if value < 0:
                raise UsageError(f"OneCycleLR: {name} must not be negative, but received {value}")
        require_type(total_steps, (int,), "OneCycleLR: total_steps")
        if total_steps <= 0:
            raise UsageError(
                f"OneCycleLR: total_steps must be a positive integer, but received {total_steps}"
            )
        require_type(phase_pct, (float,), "OneCycleLR: phase_pct")
        if not 0 <= phase_pct <= 1:
            raise UsageError(
                f"OneCycleLR: phase_pct must be between 0 and 1, but received {phase_pct}"
            )
        require_type(divide_factor, (float, int), "OneCycleLR: divide_factor")
        if three_phase and phase_pct >= 0.5:
            raise UsageError(
                "OneCycleLR: with three_phase, phase_pct must be less than 0.5, but received "
                f"{phase_pct}"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise UsageError(
                "OneCycleLR: anneal_strategy must be 'cos' or 'linear', but received "
                f"{anneal_strategy!r}"
            )
        self.total_steps = total_steps
        self.anneal_func = _cosine if anneal_strategy == "cos" else _line
        initial = max_learning_rate / float(divide_factor)
        peak = phase_pct * total_steps - 1
        if three_phase:
            self._step_config = [0, peak, 2 * phase_pct * total_steps - 2, total_steps - 1]
            self._lr_config = [initial, max_learning_rate, initial, float(end_learning_rate)]
        else:
            self._step_config = [0, peak, total_steps - 1]
            self._lr_config = [initial, max_learning_rate, float(end_learning_rate)]
        super().__init__(initial, last_epoch, verbose)

    def get_lr(self) -> float:
        step = self.last_epoch
        if step > self.total_steps:
            raise UsageError(
                f"OneCycleLR: Tried to step {step} times. However the number of total steps is "
                f"{self.total_steps}"
            )
        last = len(self._lr_config) - 2
        phase = next((i for i in range(last) if step <= self._step_config[i + 1]), last)
        start, end = self._step_config[phase], self._step_config[phase + 1]
        return self.anneal_func(
            self._lr_config[phase], self._lr_config[phase + 1], (step - start) / (end - start)
        )


class CyclicLR(LRScheduler):
    """Triangles between base and ``max_learning_rate``, their height scaled per cycle or per
    iteration.

    ``mode`` picks the scaling: none, halved each cycle, or ``exp_gamma`` to the iteration;
    ``scale_fn`` replaces it.
    """

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_type(max_learning_rate, (float, int), "CyclicLR: max_learning_rate")
        if max_learning_rate < 0:
            raise UsageError(
                "CyclicLR: max_learning_rate must not be negative, but received "
                f"{max_learning_rate}"
            )
        for name, value in (("step_size_up", step_size_up), ("step_size_down", step_size_down)):
            if value is None and name == "step_size_down":
                continue
            require_type(value, (int,), f"CyclicLR: {name}")
            if value <= 0:  # type: ignore[operator]
                raise UsageError(
                    f"CyclicLR: {name} must be a positive integer, but received {value}"
                )
        require_type(exp_gamma, (float,), "CyclicLR: exp_gamma")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise UsageError(f"CyclicLR: mode {mode!r} is invalid and scale_fn is not specified")
        if scale_mode not in ("cycle", "iterations"):
            raise UsageError(
                f"CyclicLR: scale_mode must be 'cycle' or 'iterations', but received {scale_mode!r}"
            )
        up = float(step_size_up)
        self.cycle_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_up_pct = up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode = mode
        self.gamma = exp_gamma
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.scale_fn = scale_fn or self._mode_scale
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _mode_scale(self, x: float) -> float:
        if self.mode == "triangular":
            return 1.0
        return math.pow(2.0, 1 - x) if self.mode == "triangular2" else math.pow(self.gamma, x)

    def get_lr(self) -> float:
        cycle = 1 + self.last_epoch // self.cycle_size
        progress = 1.0 + self.last_epoch / self.cycle_size - cycle
        if progress <= self.step_up_pct:
            height = progress / self.step_up_pct
        else:
            height = (1 - progress) / (1 - self.step_up_pct)
        position = cycle if self.scale_mode == "cycle" else self.last_epoch
        return self.base_lr + self.amplitude * height * self.scale_fn(position)
