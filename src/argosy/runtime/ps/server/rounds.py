"""Synchronous pushes: the gradients of a step are gathered from all workers and applied once, as
their mean, in the order of the workers.

A worker hands in its part, and waits until the step is applied, or for the error of applying it,
which all workers of the step get. After a server was restarted, workers send again what nobody
confirmed; a step that was applied is confirmed at once. A worker that has gone may come back and
hand in its part again; how long the others wait for that is their patience.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import PositionUnknown, PsError, ServerUnavailable

log = logging.getLogger("argosy.ps")

_LONG_S = 30.0  # after which a push that waits is worth a line in the log
_HINT = "one that has no more batches calls fleet.stop_worker()"


class _Step:
    """What workers have handed in, by worker, and the error if it could not be applied."""

    def __init__(self) -> None:
        self.payloads: dict[int, Any] = {}
        self.error: Exception | None = None


class Rounds:
    """The steps of one table. ``apply(step, payloads)`` gets what the workers pushed, by worker;
    ``applied()`` is the last step that was applied.
    """

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
        # those to which parts are missing, by number; guarded by _changed
        self._steps: dict[int, _Step] = {}
        # by worker, until when it may come back; guarded by _changed
        self._gone: dict[int, Deadline] = {}
        self._is_closed = False  # guarded by _changed
        self._given_up = ""  # why the job cannot go on; guarded by _changed

    def hand_in(self, worker: int, step: int, payload: Any) -> Callable[[float], bool]:
        """Take a worker's part of a step. Returns what waits, so many seconds at most, until the
        step is applied, and then says whether that was not so before.
        """
        with self._changed:
            self._check_open()
            if step <= self._applied():
                return lambda timeout_s: False
            if step > self._applied() + 1:
                raise PsError(
                    f"worker {worker} pushed step {step} of {self._what}, but step "
                    f"{self._applied()} was the last: either the steps between "
                    "were never pushed, or the server has lost its tables. Start the job again "
                    "from a checkpoint."
                )
            current = self._steps.setdefault(step, _Step())
            current.payloads[worker] = payload
            self._expected.add(worker)
            self._complete(step)

        def wait(timeout_s: float) -> bool:
            with self._changed:
                self._wait(worker, step, current, Deadline.after(timeout_s))
            return True

        return wait

    def _complete(self, step: int) -> None:
        """Apply a step if everybody has handed in a part of it."""
        current = self._steps[step]
        parts = current.payloads
        if parts and parts.keys() >= self._expected:
            del self._steps[step]
            try:
                self._apply(step, [parts[w] for w in sorted(parts)])
            except Exception as error:  # it belongs to all who wait for the step
                current.error = error
            self._changed.notify_all()

    def _wait(self, worker: int, step: int, current: _Step, deadline: Deadline) -> None:
        said_by = Deadline.after(_LONG_S)
        while True:
            self._check_open()
            if current.error is not None:
                raise current.error
            if step <= self._applied():
                return
            for other, back_by in self._gone.items():
                if back_by.expired:
                    raise ServerUnavailable(
                        f"{self._what}: worker {other} has gone, so its step cannot be completed"
                    )
            missing = sorted(self._expected - current.payloads.keys())
            if deadline.expired:
                raise PsError(
                    f"worker {worker} waited in step {step} of {self._what} for workers "
                    f"{missing}, which did not push; {_HINT}"
                )
            if said_by.expired:
                said_by = Deadline.never()
                log.warning(
                    "worker %d waits in step %d of %s for workers %s; %s",
                    worker,
                    step,
                    self._what,
                    missing,
                    _HINT,
                )
            self._changed.wait(
                min(1.0, *(d.remaining_s() for d in (deadline, said_by, *self._gone.values())))
            )

    def _check_open(self) -> None:
        if self._given_up:
            raise PositionUnknown(self._given_up)
        if self._is_closed:
            raise ServerUnavailable(f"{self._what}: the server is ending")

    def give_up(self, reason: str) -> None:
        """The job cannot go on: whoever waits or comes gets an error that says why."""
        with self._changed:
            self._given_up = reason
            self._changed.notify_all()

    def retire(self, worker: int) -> None:
        """A worker has finished: steps to come do without it, and are the mean of the others."""
        with self._changed:
            self._expected.discard(worker)
            self._gone.pop(worker, None)
            for step in sorted(self._steps):
                self._complete(step)

    def lose(self, worker: int) -> None:
        """A worker has gone: what it had handed in is forgotten, and whoever waits gets an error if
        it does not come back in time.
        """
        with self._changed:
            self._gone[worker] = Deadline.after(self._patience_s)
            for current in self._steps.values():
                current.payloads.pop(worker, None)
            self._changed.notify_all()

    def welcome(self, worker: int) -> None:
        """A worker that had gone is back."""
        with self._changed:
            self._gone.pop(worker, None)
            self._expected.add(worker)

    def close(self) -> None:
        """End all waiting, with an error."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
