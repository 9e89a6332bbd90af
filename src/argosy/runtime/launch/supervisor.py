"""Runs the workers of one host until all have ended well, or the first has failed.

A failure, SIGINT, SIGTERM or SIGHUP ends the others: SIGTERM first, SIGKILL after a grace period or
at a second signal. If this process itself is killed, the workers are (see ``crew.py``).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TextIO

from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.launch.crew import Crew
from argosy.runtime.launch.logs import Follower

_LOOK_S = 0.05
GRACE_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``failed_rank`` is the first rank that failed, ``interrupted_by`` the signal
    that ended it.
    """

    failed_rank: int | None = None
    exit_code: int = 0
    interrupted_by: int | None = None


class Supervisor:
    """``start`` fills the crew; it is called once, with signal handlers in place, so that none is
    missed. ``follower`` shows a log meanwhile.

    ``check`` raises StoreFailed when the store that this process serves has died; that ends the
    run.
    """

    def __init__(
        self,
        crew: Crew,
        start: Callable[[], None],
        follower: Follower | None,
        out: TextIO,
        grace_s: float = GRACE_S,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._crew = crew
        self._start = start
        self._check = check
        self._follower = follower
        self._out = out
        self._grace_s = grace_s
        self._signals: list[int] = []

    def run(self) -> Outcome:
        """Start the workers and wait; returns when every one of them has ended."""
        before = install_handlers(self._on_signal)
        try:
            self._start()
            return self._watch()
        except StoreFailed as error:
            # said before the workers are ended, which can take a while
            print(f"launch: {error}; the workers are ended", file=self._out, flush=True)
            return Outcome(exit_code=1)
        finally:
            self._end()
            restore_handlers(before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _watch(self) -> Outcome:
        while self._crew.is_running:
            if self._signals:
                return Outcome(exit_code=-self._signals[0], interrupted_by=self._signals[0])
            failed = self._crew.wait(_LOOK_S)
            self._check()  # before a worker is blamed that failed for want of the store
            if failed is not None:
                return Outcome(failed_rank=failed.rank, exit_code=failed.poll() or 0)
            if self._follower is not None:
                self._follower.pump()
        return Outcome()

    def _end(self) -> None:
        asked = len(self._signals)
        for worker in self._crew.end(self._grace_s, lambda: len(self._signals) > asked):
            print(
                f"launch: rank {worker.rank} (pid {worker.pid}) did not end on SIGTERM and was "
                "killed",
                file=self._out,
            )
        self._crew.close()
        if self._follower is not None:
            self._follower.pump()


def install_handlers(handler: Callable[[int, FrameType | None], Any]) -> dict[int, Any]:
    """Have ``handler`` called for the signals that end a job; returns what was there. Only a main
    thread can.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [signal.SIGINT, signal.SIGTERM]
    # nohup wants the job to outlive the terminal
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return {number: signal.signal(number, handler) for number in numbers}


def restore_handlers(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
