"""Synchronous pushes: the gradients of a step are gathered from all workers and applied once, as their mean, in the order of the workers.

A push returns when its step is applied. After a server was restarted, workers send again what nobody confirmed; a step that was applied is confirmed at once.
A worker that has gone may come back and hand in its part again; how long the others wait for that is their patience.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import PsError, ServerUnavailable


class Rounds:
    """The steps of one table. ``apply(step, payloads)`` gets what the workers pushed, by worker; ``applied()`` is the last step that was applied."""

    def __init__(
        self,
        num_workers: int,
        apply: Callable[[int, list[Any]], None],
        applied: Callable[[], int],
        what: str,
        patience_s: float = 0.0,
    ) -> None:
        self._expected = set(range(num_workers))  # guarded by _changed
        self._apply = apply
        self._applied = applied
        self._what = what
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._payloads: dict[int, dict[int, Any]] = {}  # by step and worker; guarded by _changed
        self._gone: dict[int, Deadline] = {}  # by worker, until when it may come back; guarded by _changed

    def push(self, worker: int, step: int, payload: Any, timeout_s: float) -> bool:
        """Hand in a worker's part of a step and wait until the step is applied; False if it was applied before."""
        with self._changed:
            if step <= self._applied():
                return False
            parts = self._payloads.setdefault(step, {})
            parts[worker] = payload
            self._expected.add(worker)
            self._complete(step)
            self._wait(worker, step, Deadline.after(timeout_s))
            return True

    def _complete(self, step: int) -> None:
        """Apply a step if everybody has handed in a part of it."""
        parts = self._payloads[step]
        if parts.keys() >= self._expected:
            self._apply(step, [parts[w] for w in sorted(parts)])
            del self._payloads[step]
            self._changed.notify_all()

    def _wait(self, worker: int, step: int, deadline: Deadline) -> None:
        while step > self._applied():
            for other, back_by in self._gone.items():
                if back_by.expired:
                    raise ServerUnavailable(f"{self._what}: worker {other} has gone, so its step cannot be completed")
            if deadline.expired:
                missing = sorted(self._expected - self._payloads.get(step, {}).keys())
                raise PsError(
                    f"worker {worker} waited in step {step} of {self._what} for workers {missing}, which did not push"
                )
            self._changed.wait(min(1.0, *(d.remaining_s() for d in (deadline, *self._gone.values()))))

    def retire(self, worker: int) -> None:
        """A worker has finished: steps to come do without it, and are the mean of the others."""
        with self._changed:
            self._expected.discard(worker)
            self._gone.pop(worker, None)
            for step in sorted(self._payloads):
                self._complete(step)

    def lose(self, worker: int) -> None:
        """A worker has gone: what it had handed in is forgotten, and whoever waits gets an error if it does not come back in time."""
        with self._changed:
            self._gone[worker] = Deadline.after(self._patience_s)
            for parts in self._payloads.values():
                parts.pop(worker, None)
            self._changed.notify_all()

    def welcome(self, worker: int) -> None:
        """A worker that had gone is back."""
        with self._changed:
            self._gone.pop(worker, None)
            self._expected.add(worker)
