"""ProgBarLogger: what ``fit``, ``evaluate`` and ``predict`` print."""

from __future__ import annotations

import time
from typing import Any

from argosy.foundation import env
from argosy.hapi._callback import Callback, Logs
from argosy.hapi.progressbar import ProgressBar


class _Phase:
    """How far the epoch, evaluation or prediction that runs now is, and what it cost so far."""

    def __init__(self, steps: int | None, verbose: int) -> None:
        self.steps = steps
        self.step = 0
        self.samples = 0
        self.bar = ProgressBar(num=steps, verbose=verbose)
        self._forget_costs()
        self._loading_since = self._running_since = time.time()

    def _forget_costs(self) -> None:
        self._loading_s = self._running_s = 0.0
        self._num_batches = self._num_samples = 0

    def batch_begins(self) -> None:
        self._running_since = time.time()
        self._loading_s += self._running_since - self._loading_since

    def batch_ends(self, logs: dict[str, Any]) -> None:
        samples = logs.get("batch_size", 1)
        self.step += 1
        self.samples += samples
        self._running_s += time.time() - self._running_since
        self._num_batches += 1
        self._num_samples += samples

    def batch_told(self) -> None:
        self._loading_since = time.time()

    def is_due(self, log_freq: int) -> bool:
        """Whether the batch that just ended is to be told; the last one is told at the end."""
        is_last = self.steps is not None and self.step >= self.steps
        return self.step % log_freq == 0 and not is_last

    def costs(self) -> list[tuple[str, str]]:
        """What reading and computing cost since this was last asked."""
        batches, samples = self._num_batches or 1.0, self._num_samples or 1.0
        elapsed_s = self._loading_s + self._running_s
        told = [
            ("avg_reader_cost", f"{self._loading_s / batches:.5f} sec"),
            ("avg_batch_cost", f"{self._running_s / batches:.5f} sec"),
            ("ips", f"{samples / elapsed_s if elapsed_s else 0.0:.5f} samples/sec"),
        ]
        self._forget_costs()
        return told


def _of_phase(phase: str, name: str) -> Any:
    """An attribute under the name by which subclasses in scripts know it."""
    return property(lambda self: getattr(self.phases[phase], name))


class ProgBarLogger(Callback):
    """Print loss and metrics every ``log_freq`` steps, on rank 0.

    ``verbose`` 0 is silent, 1 draws a bar, 2 prints lines, 3 adds what reading and computing cost.
    Subclasses may change what is told: ``train_metrics``, ``eval_metrics`` and ``test_metrics``.
    """

    train_progbar, train_step = _of_phase("train", "bar"), _of_phase("train", "step")
    eval_progbar, eval_step = _of_phase("eval", "bar"), _of_phase("eval", "step")
    test_progbar, test_step = _of_phase("test", "bar"), _of_phase("test", "step")
    eval_steps, evaled_samples = _of_phase("eval", "steps"), _of_phase("eval", "samples")
    test_steps, tested_samples = _of_phase("test", "steps"), _of_phase("test", "samples")

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        self.epochs: int | None = None
        self.steps: int | None = None
        self.verbose = verbose
        self.log_freq = log_freq
        self.phases: dict[str, _Phase] = {}

    def _is_print(self) -> bool:
        return bool(self.verbose) and env.rank() == 0

    def _start(self, phase: str, steps: int | None) -> None:
        self.phases[phase] = _Phase(steps, self.verbose)

    def _end_batch(self, phase: str, logs: Logs) -> None:
        running = self.phases[phase]
        running.batch_ends(logs or {})
        if running.is_due(self.log_freq) and self._is_print():
            self._updates(logs, phase)
        running.batch_told()

    def _updates(self, logs: Logs, mode: str) -> None:
        """Tell the quantities of a phase: "train", "eval" or "test"."""
        running, logs = self.phases[mode], logs or {}
        values = [(name, logs[name]) for name in getattr(self, f"{mode}_metrics") if name in logs]
        if self.verbose == 3:
            values += running.costs()
        running.bar.update(running.step, values)

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epochs = self.params["epochs"]
        self.train_metrics = self.params["metrics"]
        if self._is_print():
            print(
                "The loss value printed in the log is the current step, and the metric is the "
                "average value of previous steps."
            )

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.steps = self.params["steps"]
        self.epoch = epoch
        if self.epochs and self._is_print():
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self._start("train", self.steps)

    def on_train_batch_begin(self, step: int, logs: Logs = None) -> None:
        self.phases["train"].batch_begins()

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch("train", logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self._is_print() and self.steps is not None:
            self._updates(logs, "train")

    def on_eval_begin(self, logs: Logs = None) -> None:
        logs = logs or {}
        self.eval_metrics = logs.get("metrics", [])
        self._start("eval", logs.get("steps"))
        if self._is_print():
            print("Eval begin...")

    def on_eval_batch_begin(self, step: int, logs: Logs = None) -> None:
        self.phases["eval"].batch_begins()

    def on_eval_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch("eval", logs)

    def on_eval_end(self, logs: Logs = None) -> None:
        if self._is_print() and self.eval_steps is not None:
            self._updates(logs, "eval")
            print(f"Eval samples: {self.evaled_samples}")

    def on_predict_begin(self, logs: Logs = None) -> None:
        logs = logs or {}
        self.test_metrics = logs.get("metrics", [])
        self._start("test", logs.get("steps"))
        if self._is_print():
            print("Predict begin...")

    def on_predict_batch_begin(self, step: int, logs: Logs = None) -> None:
        self.phases["test"].batch_begins()

    def on_predict_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch("test", logs)

    def on_predict_end(self, logs: Logs = None) -> None:
        if self._is_print():
            # as in Paddle, lines that end on a multiple of log_freq are not told again
            if self.test_step % self.log_freq != 0 or self.verbose == 1:
                self._updates(logs, "test")
            print(f"Predict samples: {self.tested_samples}")
