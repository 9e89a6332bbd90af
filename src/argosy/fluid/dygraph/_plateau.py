"""A learning rate that falls when the loss does not."""

from __future__ import annotations

from typing import Any

from argosy.fluid.dygraph.schedule import LearningRateDecay
from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import Tensor


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
        self.best_loss: float | None = None
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
        if self.best_loss is None or self._is_better(value, self.best_loss):
            self.best_loss, self.num_bad_epochs = value, 0
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
