"""Schedulers that depend on more than the epoch: a warm-up around another one, and reduction on a
plateau.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError, UsageError
from argosy.optimizer.lr._base import LRScheduler, require, require_type
from argosy.tensor.engine import Tensor


class LinearWarmup(LRScheduler):
    """From ``start_lr`` to ``end_lr`` in ``warmup_steps``, then ``learning_rate``: a number, or a
    scheduler that starts there.

    Example:
        >>> import paddle
        >>> scheduler = paddle.optimizer.lr.LinearWarmup(0.5, warmup_steps=2, start_lr=0.0,
        ...     end_lr=0.5)
        >>> for _ in range(3):
        ...     print(scheduler())
        ...     scheduler.step()
        0.0
        0.25
        0.5
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        require_type(learning_rate, (float, int, LRScheduler), "LinearWarmup: learning_rate")
        require(
            warmup_steps > 0 and isinstance(warmup_steps, int),
            f"LinearWarmup: warmup_steps must be a positive integer, but received {warmup_steps}",
        )
        require(
            end_lr > start_lr,
            f"LinearWarmup: end_lr {end_lr} must be greater than start_lr {start_lr}",
        )
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = {k: v for k, v in state_dict.items() if k != "LinearWarmup_LR"}
        super().set_state_dict(own)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return (
                self.end_lr - self.start_lr
            ) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ReduceOnPlateau(LRScheduler):
    """Times ``factor`` when the metric given to ``step`` has not improved for more than
    ``patience`` epochs.

    An improvement beats the best by ``threshold``, relative to it ('rel') or absolute ('abs').
    After a reduction, ``cooldown`` epochs do not count. The rate does not go below ``min_lr``; a
    change of at most ``epsilon`` is not made.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        self.mode = mode.lower()
        if self.mode not in ("min", "max"):
            raise UsageError(f"ReduceOnPlateau: mode: {mode} is unknown! It must be 'min' or 'max'")
        if factor >= 1.0:
            raise UsageError(f"ReduceOnPlateau: factor should be < 1.0, but received {factor}")
        self.threshold_mode = threshold_mode.lower()
        if self.threshold_mode not in ("rel", "abs"):
            raise UsageError(
                f"ReduceOnPlateau: threshold mode: {threshold_mode} is unknown! It must be 'rel' "
                "or 'abs'"
            )
        require_type(learning_rate, (float, int), "ReduceOnPlateau: learning_rate")
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best: Any = None
        self.num_bad_epochs = 0
        # There is no first step: without a metric there is nothing to judge.
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self.verbose = verbose
        self._var_name = None

    def state_keys(self) -> None:
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Judge ``metrics``, one number, and go on to the next epoch or to ``epoch``."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if isinstance(metrics, (Tensor, np.ndarray)):
            require(
                metrics.size == 1,
                f"ReduceOnPlateau.step: metrics must be one number, but its size is {metrics.size}",
            )
        elif not isinstance(metrics, (int, float, np.floating)):
            raise DtypeError(
                "ReduceOnPlateau.step: metrics must be a number, an array or a Tensor, but "
                f"received {type(metrics).__name__}"
            )
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metrics, self.best):
            self.best = metrics
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
            reduced = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - reduced > self.epsilon:
                self.last_lr = reduced
                self._report()

    def _is_better(self, current: Any, best: Any) -> bool:
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return bool(current < best - margin if self.mode == "min" else current > best + margin)
