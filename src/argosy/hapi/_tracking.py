"""Callbacks that hand loss and metrics to another program: VisualDL and Weights & Biases."""

from __future__ import annotations

import warnings
from typing import Any

from argosy.foundation import env
from argosy.hapi._callback import Callback, Logs, first_number
from argosy.utils import try_import


class _Tracker(Callback):
    """Tells training by step and evaluation by epoch, on rank 0."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: int | None = None
        self.steps: int | None = None
        self.epoch = 0
        self.train_step = 0
        self._is_fit = False
        self._is_first = False  # this rank tells; asked once for a training, of many batches

    def _tell(self, phase: str, step: int, values: dict[str, Any]) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    def _start(self) -> None:
        """Training begins."""

    def _updates(self, phase: str, step: int, names: list[str], logs: Logs) -> None:
        found = {name: first_number(logs[name]) for name in names if logs and name in logs}
        values = {f"{phase}/{name}": v for name, v in found.items() if v is not None}
        self._tell(phase, step, values)

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epochs = self.params["epochs"]
        self.train_metrics = self.params["metrics"]
        self._is_fit = True
        self.train_step = 0
        self._is_first = env.rank() == 0
        if self._is_first:
            self._start()

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.steps = self.params["steps"]
        self.epoch = epoch

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        self.train_step += 1
        if self._is_first:
            self._updates("train", self.train_step, self.train_metrics, logs)

    def on_eval_begin(self, logs: Logs = None) -> None:
        self.eval_steps = (logs or {}).get("steps")
        self.eval_metrics = (logs or {}).get("metrics", [])

    def on_eval_end(self, logs: Logs = None) -> None:
        if env.rank() == 0:
            self._updates("eval", self.epoch, self.eval_metrics, logs)
            if not self._is_fit:
                self._close()

    def on_train_end(self, logs: Logs = None) -> None:
        if env.rank() == 0:
            self._close()


class VisualDL(_Tracker):
    """Write loss and metrics to ``log_dir`` for the board of visualdl, which must be installed."""

    def __init__(self, log_dir: str) -> None:
        super().__init__()
        self.log_dir = log_dir
        self._writer: Any = None

    def _tell(self, phase: str, step: int, values: dict[str, Any]) -> None:
        if self._writer is None:
            self._writer = try_import("visualdl").LogWriter(self.log_dir)
        for tag, value in values.items():
            self._writer.add_scalar(tag=tag, step=step, value=value)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class WandbCallback(_Tracker):
    """Log loss and metrics to a run of Weights & Biases; ``wandb`` must be installed.

    The arguments are those of ``wandb.init``. A run that is in progress is used as it is.
    """

    def __init__(
        self,
        project: str | None = None,
        entity: str | None = None,
        name: str | None = None,
        dir: str | None = None,
        mode: str | None = None,
        job_type: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.wandb = try_import(
            "wandb",
            "WandbCallback: wandb is not installed; install it with `pip install wandb`",
        )
        self.wandb_args = {
            "project": project,
            "name": name,
            "entity": entity,
            "dir": dir,
            "mode": mode,
            "job_type": job_type,
            **kwargs,
        }
        self._run: Any = None
        _ = self.run

    @property
    def run(self) -> Any:
        """The run, None on ranks other than 0."""
        if self._run is None and env.rank() == 0:
            self._run = self.wandb.run
            if self._run is None:
                self._run = self.wandb.init(**self.wandb_args)
            else:
                warnings.warn(
                    "WandbCallback: there is a wandb run in progress, which is used; if that is "
                    "not wanted, call `wandb.finish()` first",
                    stacklevel=3,
                )
        return self._run

    def _start(self) -> None:
        self.run.define_metric("train/step")
        self.run.define_metric("train/*", step_metric="train/step")
        self.run.define_metric("epoch")
        self.run.define_metric("eval/*", step_metric="epoch")

    def _tell(self, phase: str, step: int, values: dict[str, Any]) -> None:
        self.run.log({"train/step" if phase == "train" else "epoch": step, **values})

    def _close(self) -> None:
        self.run.finish()
        self._run = None
