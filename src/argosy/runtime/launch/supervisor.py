"""Runs the workers of one host until all have ended well, or the first has failed.

A failure, SIGINT or SIGTERM ends the others: SIGTERM first, SIGKILL after a grace period. Only processes started here are signalled. If the supervisor
itself is killed, the kernel kills the workers.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from argosy.runtime.launch.logs import Follower
from argosy.runtime.launch.process import Worker

_LOOK_S = 0.05
_GRACE_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``failed_rank`` is the first rank that failed, ``interrupted_by`` the signal that ended it."""

    failed_rank: int | None = None
    exit_code: int = 0
    interrupted_by: int | None = None


class Supervisor:
    """``start`` makes the workers; it is called once, with signal handlers in place, so that none is missed. ``follower`` shows a log meanwhile."""

    def __init__(self, start: Callable[[], Sequence[Worker]], follower: Follower | None = None, grace_s: float = _GRACE_S) -> None:
        self._start = start
        self._follower = follower
        self._grace_s = grace_s
        self._signal: int | None = None

    def run(self) -> Outcome:
        """Start the workers and wait; returns when every one of them has ended."""
        before = self._install_handlers()
        workers: Sequence[Worker] = ()
        try:
            workers = self._start()
            return self._watch(workers)
        finally:
            self._end(workers)
            if self._follower is not None:
                self._follower.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _install_handlers(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signal = number

    def _watch(self, workers: Sequence[Worker]) -> Outcome:
        running = list(workers)
        while running:
            if self._signal is not None:
                return Outcome(exit_code=128 + self._signal, interrupted_by=self._signal)
            for worker in list(running):
                code = worker.poll()
                if code is None:
                    continue
                running.remove(worker)
                if code != 0:
                    return Outcome(failed_rank=worker.rank, exit_code=code)
            if self._follower is not None:
                self._follower.pump()
            time.sleep(_LOOK_S)
        return Outcome()

    def _end(self, workers: Sequence[Worker]) -> None:
        alive = [worker for worker in workers if worker.poll() is None]
        for worker in alive:
            worker.signal(signal.SIGTERM)
        deadline = time.monotonic() + self._grace_s
        for worker in alive:
            if not worker.wait(max(0.0, deadline - time.monotonic())):
                print(f"rank {worker.rank} (pid {worker.pid}) did not end on SIGTERM; killing it", file=sys.stderr)
                worker.signal(signal.SIGKILL)
                worker.wait(_GRACE_S)
