"""ProgBarLogger: what ``fit``, ``evaluate`` and ``predict`` print."""

from __future__ import annotations

import time
from typing import Any

from argosy.foundation import env
from argosy.hapi._callback import Callback, Logs
from argosy.hapi.progressbar import ProgressBar


class _Phase:
    """How far the epoch, evaluation or prediction that runs now is, and what it cost so far."""

    def __init__(self, steps: int | None, metrics: list[str], verbose: int) -> None:
        self.steps = steps
        self.metrics = metrics
        self.step = 0
        self.samples = 0
        self._verbose = verbose
        self._bar = ProgressBar(num=steps, verbose=verbose)
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

    def tell(self, logs: dict[str, Any]) -> None:
        values = [(name, logs[name]) for name in self.metrics if name in logs]
        if self._verbose == 3:
            values += self._costs()
            self._forget_costs()
        self._bar.update(self.step, values)

    def _costs(self) -> list[tuple[str, str]]:
        batches, samples = self._num_batches or 1.0, self._num_samples or 1.0
        elapsed_s = self._loading_s + self._running_s
        return [
            ("avg_reader_cost", f"{self._loading_s / batches:.5f} sec"),
            ("avg_batch_cost", f"{self._running_s / batches:.5f} sec"),
            ("ips", f"{samples / elapsed_s if elapsed_s else 0.0:.5f} samples/sec"),
        ]


class ProgBarLogger(Callback):
    """Print loss and metrics every ``log_freq`` steps, on rank 0.

    ``verbose`` 0 is silent, 1 draws a bar, 2 prints lines, 3 adds what reading and computing cost.
    """

    _train: _Phase
    _eval: _Phase
    _test: _Phase

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        self.epochs: int | None = None
        self.steps: int | None = None
        self.verbose = verbose
        self.log_freq = log_freq

    @property
    def _prints(self) -> bool:
        return bool(self.verbose) and env.rank() == 0

    def _phase(self, steps: int | None, metrics: list[str]) -> _Phase:
        return _Phase(steps, metrics, self.verbose)

    def _end_batch(self, phase: _Phase, logs: Logs) -> None:
        phase.batch_ends(logs or {})
        if self._prints and phase.is_due(self.log_freq):
            phase.tell(logs or {})
        phase.batch_told()

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epochs = self.params["epochs"]
        if self._prints:
            print(
                "The loss value printed in the log is the current step, and the metric is the "
                "average value of previous steps."
            )

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.steps = self.params["steps"]
        self.epoch = epoch
        if self.epochs and self._prints:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self._train = self._phase(self.steps, self.params["metrics"])

    def on_train_batch_begin(self, step: int, logs: Logs = None) -> None:
        self._train.batch_begins()

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch(self._train, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self._prints and self.steps is not None:
            self._train.tell(logs or {})

    def on_eval_begin(self, logs: Logs = None) -> None:
        logs = logs or {}
        self._eval = self._phase(logs.get("steps"), logs.get("metrics", []))
        if self._prints:
            print("Eval begin...")

    def on_eval_batch_begin(self, step: int, logs: Logs = None) -> None:
        self._eval.batch_begins()

    def on_eval_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch(self._eval, logs)

    def on_eval_end(self, logs: Logs = None) -> None:
        if self._prints and self._eval.steps is not None:
            self._eval.tell(logs or {})
            print(f"Eval samples: {self._eval.samples}")

    def on_predict_begin(self, logs: Logs = None) -> None:
        logs = logs or {}
        self._test = self._phase(logs.get("steps"), logs.get("metrics", []))
        if self._prints:
            print("Predict begin...")

    def on_predict_batch_begin(self, step: int, logs: Logs = None) -> None:
        self._test.batch_begins()

    def on_predict_batch_end(self, step: int, logs: Logs = None) -> None:
        self._end_batch(self._test, logs)

    def on_predict_end(self, logs: Logs = None) -> None:
        if self._prints:
            # as in Paddle, lines that end on a multiple of log_freq are not told again
            if self._test.step % self.log_freq != 0 or self.verbose == 1:
                self._test.tell(logs or {})
            print(f"Predict samples: {self._test.samples}")
