"""Runs the processes of a job on this host until they have ended, or one has failed for good.

A failure, SIGINT, SIGTERM or SIGHUP ends the others: SIGTERM first, SIGKILL after a grace period or
at a second signal. If this process itself is killed, the children are (see ``process_pool.py``).
Everything happens in the thread that calls; there is no other.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any

from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.launch import report
from argosy.runtime.launch.logs import Follower, LogFolder
from argosy.runtime.launch.placement import SERVER
from argosy.runtime.launch.process import ChildProcess
from argosy.runtime.launch.process_pool import ProcessPool
from argosy.runtime.launch.process_spec import Job, ProcessSpec

_LOOK_S = 0.05
_GRACE_S = 10.0
_SERVERS_END_S = 30.0  # servers end by themselves when every worker has said goodbye


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the first process that failed for good, or a signal to this one (a negative
    exit code), or neither.
    """

    failed: ProcessSpec | None = None
    exit_code: int = 0


class Supervisor:
    """``run`` is the whole life of a job; who has a loop of its own calls ``start``, ``look`` and
    ``end``.

    ``check`` raises StoreFailed when a store that this process serves has died; that ends the run.
    ``folder`` is the children's and goes with them. ``terminal`` shows the log that is followed.
    From the first moment on there are resources that only ``end`` gives back; ``run`` calls it.
    """

    def __init__(
        self,
        job: Job,
        say: report.Say,
        *,
        check: Callable[[], None] | None = None,
        folder: str | None = None,
        terminal: IO[bytes] | None = None,
    ) -> None:
        self._job = job
        self._say = say
        self._check = check
        self._signals: list[int] = []
        self._restarts: Counter[str] = Counter()  # by label
        self._workers_ended_s: float | None = None
        self._logs = LogFolder(job)
        self._follower: Follower | None = None
        with ExitStack() as stack:
            followed = self._logs.path(job.followed)
            if followed is not None:
                self._follower = Follower(followed, terminal or sys.stdout.buffer)
                stack.callback(self._follower.close)
            self._pool = stack.enter_context(ProcessPool(folder))
            self._open = stack.pop_all()

    def run(self) -> Outcome:
        """Start the processes and wait, with handlers of signals in place from before the first
        one; returns when every one has ended and what happened was said.
        """
        before = install_handlers(lambda number, frame: self._signals.append(number))
        try:
            outcome = self._until_outcome()
        finally:
            self.end()
            restore_handlers(before)
        if outcome.failed is not None:
            self.report(outcome)
        elif outcome.exit_code < 0:
            self._say(report.stopped(outcome.exit_code, self._job.everyone))
        return outcome

    def _until_outcome(self) -> Outcome:
        try:
            self.start()
            while not self._signals:
                outcome = self.look(_LOOK_S)
                if outcome is not None:
                    return outcome
            return Outcome(exit_code=-self._signals[0])
        except StoreFailed as error:
            self._say(report.store_failed(error, self._job.everyone))
            return Outcome(exit_code=1)

    def start(self) -> list[int]:
        """Start every process, show the table and return the pids."""
        pids = [self._start(process).pid for process in self._job.processes]
        if self._job.shows_table:
            logs = [str(self._logs.path(p) or "terminal") for p in self._job.processes]
            self._say(report.table(self._job, pids, logs))
        return pids

    def _start(self, process: ProcessSpec) -> ChildProcess:
        with self._logs.open(process) as log:
            return self._pool.start(process, log)

    def look(self, timeout_s: float) -> Outcome | None:
        """Wait at most so long for something to happen; None while the job goes on."""
        failed = self._pool.wait(timeout_s)
        if self._follower is not None:
            self._follower.pump()
        if self._check is not None:
            self._check()  # before a process is blamed that failed for want of the store
        if failed is not None and not self._restart(failed):
            return Outcome(failed.spec, failed.poll() or 0)
        return Outcome() if not self._pool.running or self._are_servers_overdue() else None

    def _restart(self, child: ChildProcess) -> bool:
        """Start a process that failed once more, if its rule allows it and nobody has said that it
        would not help.
        """
        label, code = child.spec.member.label, child.poll() or 0
        allowed = child.spec.restart.allowed(code)
        if self._restarts[label] >= allowed or self._refusal() is not None:
            return False
        self._restarts[label] += 1
        again = f"it is started again ({self._restarts[label]} of at most {allowed})"
        self._say(f"launch: {report.end_of(label, code, again)}")
        self._start(child.spec)
        return True

    def _refusal(self) -> str | None:
        """Why a process that was started again does not go on, if one said so."""
        paths = (Path(p.refusal_file) for p in self._job.processes if p.refusal_file)
        said = next((path for path in paths if path.is_file()), None)
        return None if said is None else said.read_text(errors="replace")

    def _are_servers_overdue(self) -> bool:
        """Whether servers still run long after the last worker of this host has ended."""
        running = [child.spec.member for child in self._pool.running]
        if any(member.role != SERVER for member in running):
            return False
        if all(process.member.role == SERVER for process in self._job.processes):
            return False
        if self._workers_ended_s is None:
            self._workers_ended_s = time.monotonic()
        if time.monotonic() - self._workers_ended_s <= _SERVERS_END_S:
            return False
        left = ", ".join(member.label for member in running)
        self._say(f"launch: the workers have finished, but {left} did not end and was ended")
        return True

    def end(self) -> None:
        """End what runs, and let go of everything."""
        asked = len(self._signals)
        with self._open:
            for child in self._pool.end(_GRACE_S, lambda: len(self._signals) > asked):
                self._say(
                    f"launch: {child.spec.member.label} (pid {child.pid}) did not end on SIGTERM "
                    "and was killed"
                )

    def report(self, outcome: Outcome) -> None:
        """Say which process failed first, and show the end of its log."""
        assert outcome.failed is not None
        refusal = self._refusal()
        if refusal is not None:
            self._say(f"launch: {refusal}")
        process = outcome.failed
        words = report.end_of(process.member.label, outcome.exit_code, self._job.after_failure)
        self._say(f"launch: {words}")
        path = self._logs.path(process)
        if path is not None:
            self._say(report.excerpt(str(path), self._logs.last_lines(process)))


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
