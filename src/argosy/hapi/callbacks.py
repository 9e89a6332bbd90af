"""``paddle.callbacks``: what runs beside ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from argosy.foundation import env
from argosy.foundation.errors import UsageError
from argosy.hapi._callback import Callback, CallbackList, Logs
from argosy.hapi._monitor import EarlyStopping
from argosy.hapi._progress import ProgBarLogger
from argosy.hapi._setup import optimizer_of
from argosy.optimizer.lr import LRScheduler as Scheduler

__all__: list[str] = []


class ModelCheckpoint(Callback):
    """Save the model to ``save_dir`` after every ``save_freq``-th epoch, under the epoch's number,
    and at the end as ``final``; on rank 0.
    """

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        self.save_freq = save_freq
        self.save_dir = save_dir

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self.epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs: Logs = None) -> None:
        self._save("final")

    def _save(self, name: str) -> None:
        if self.model and self.save_dir and env.rank() == 0:
            path = f"{self.save_dir}/{name}"
            print(f"save checkpoint at {os.path.abspath(path)}")
            self.model.save(path)


class LRScheduler(Callback):
    """Step the scheduler of the optimizer's learning rate, if it has one, after every batch or
    every epoch.
    """

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        if by_step and by_epoch:
            raise UsageError("LRScheduler: by_step option is mutually exclusive with by_epoch")
        self.by_step = by_step
        self.by_epoch = by_epoch

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self.by_epoch:
            self._step()

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        if self.by_step:
            self._step()

    def _step(self) -> None:
        rate = getattr(optimizer_of(self.model), "rate", None)
        if isinstance(rate, Scheduler):
            rate.step()


def config_callbacks(
    callbacks: Callback | Sequence[Callback] | None = None,
    model: Any = None,
    batch_size: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    log_freq: int = 2,
    verbose: int = 2,
    save_freq: int = 1,
    save_dir: str | None = None,
    metrics: list[str] | None = None,
    mode: str = "train",
) -> CallbackList:
    """The callbacks of a run: those given, with a ProgBarLogger before them (unless ``verbose`` is
    0), a ModelCheckpoint and a LRScheduler behind them where they have none.
    """
    given = callbacks or []
    chosen: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    if verbose and not _has(chosen, ProgBarLogger):
        chosen.insert(0, ProgBarLogger(log_freq, verbose=verbose))
    if not _has(chosen, ModelCheckpoint):
        chosen.append(ModelCheckpoint(save_freq, save_dir))
    for callback in chosen:
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
    if not _has(chosen, LRScheduler):
        chosen.append(LRScheduler())
    found = CallbackList(chosen)
    found.set_model(model)
    found.set_params({
        "batch_size": batch_size,
        "epochs": epochs,
        "steps": steps,
        "verbose": verbose,
        "metrics": (metrics or []) if mode != "test" else [],
    })  # fmt: skip
    return found


def _has(callbacks: list[Any], kind: type) -> bool:
    return any(isinstance(callback, kind) for callback in callbacks)
