"""Callbacks that watch a quantity of evaluations: EarlyStopping and ReduceLROnPlateau."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from argosy.foundation import env
from argosy.foundation.errors import UsageError
from argosy.hapi._callback import Callback, Logs, first_number
from argosy.hapi._setup import optimizer_of


def _is_rising(call: str, monitor: str, mode: str) -> bool:
    """Whether the quantity is to grow."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"{call} mode {mode} is unknown, fallback to auto mode.", stacklevel=3)
        mode = "auto"
    return mode == "max" or (mode == "auto" and "acc" in monitor)


class EarlyStopping(Callback):
    """End training once ``patience`` evaluations in a row did not improve ``monitor``, the loss or
    a metric.

    ``mode`` "min" or "max" says what an improvement is; "auto" takes "max" for names with "acc" in
    them. An improvement is one of more than ``min_delta``, over ``baseline`` if given. With
    ``save_best_model`` and a ``save_dir`` of ``fit``, the best model is kept in ``best_model``
    there.
    """

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.wait_epoch = 0
        self.best_weights = None
        self.stopped_epoch = 0
        self.save_best_model = save_best_model
        self.save_dir: str | None = None  # config_callbacks sets it
        is_rising = _is_rising("EarlyStopping", monitor, mode)
        self.monitor_op: Any = np.greater if is_rising else np.less
        self.min_delta = abs(min_delta) if is_rising else -abs(min_delta)

    def on_train_begin(self, logs: Logs = None) -> None:
        self.wait_epoch = 0
        if self.baseline is not None:
            self.best_value = self.baseline
        else:
            self.best_value = np.inf if self.monitor_op is np.less else -np.inf

    def on_eval_end(self, logs: Logs = None) -> None:
        if logs is None or self.monitor not in logs:
            warnings.warn("Monitor of EarlyStopping should be loss or metric name.", stacklevel=2)
            return
        current = first_number(logs[self.monitor])
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best_value):
            self.best_value = current
            self.wait_epoch = 0
            if self._best_path is not None:
                self.model.save(self._best_path)
        else:
            self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose > 0:
                self._tell()
        self.stopped_epoch += 1

    @property
    def _best_path(self) -> str | None:
        keeps = self.save_best_model and self.save_dir is not None
        return os.path.join(str(self.save_dir), "best_model") if keeps else None

    def _tell(self) -> None:
        print(f"Epoch {self.stopped_epoch + 1}: Early stopping.")
        if self._best_path is not None:
            print(f"Best checkpoint has been saved at {os.path.abspath(self._best_path)}")


class ReduceLROnPlateau(Callback):
    """Multiply the learning rate by ``factor`` after ``patience`` evaluations without an
    improvement of ``monitor`` by more than ``min_delta``, down to ``min_lr``; then leave it alone
    for ``cooldown`` evaluations.
    """

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise UsageError(
                f"ReduceLROnPlateau: does not support a factor >= 1.0, but received {factor}"
            )
        self.monitor = monitor
        self.factor = factor
        self.min_lr = min_lr
        self.min_delta = min_delta
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.mode = mode
        self.epoch = 0
        self._is_rising = _is_rising("Learning rate reduction", monitor, mode)
        self._reset()

    def _reset(self) -> None:
        self.best = -np.inf if self._is_rising else np.inf
        self.cooldown_counter = 0
        self.wait = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        self._reset()

    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _improves(self, current: float) -> bool:
        if self._is_rising:
            return bool(np.greater(current, self.best + self.min_delta))
        return bool(np.less(current, self.best - self.min_delta))

    def on_eval_end(self, logs: Logs = None) -> None:
        if logs is None or self.monitor not in logs:
            warnings.warn(
                "Monitor of ReduceLROnPlateau should be loss or metric name.", stacklevel=2
            )
            return
        optimizer = optimizer_of(self.model)
        rate = getattr(optimizer, "rate", None)
        if not isinstance(rate, float):
            warnings.warn(f"Expected learning_rate be float, but got {type(rate)}.", stacklevel=2)
            return
        current = first_number(logs[self.monitor])
        if current is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._improves(current):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(optimizer)
        self.epoch += 1

    def _reduce(self, optimizer: Any) -> None:
        before = optimizer.get_lr()
        if before <= np.float32(self.min_lr):
            return
        rate = max(before * self.factor, self.min_lr)
        optimizer.use_rate(rate)
        if self.verbose > 0 and env.rank() == 0:
            print(f"\nEpoch {self.epoch + 1}: ReduceLROnPlateau reducing learning rate to {rate}.")
        self.cooldown_counter = self.cooldown
        self.wait = 0
