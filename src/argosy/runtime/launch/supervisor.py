"""Runs the processes of a job on this host until they have ended, or one has failed for good.

A failure, SIGINT, SIGTERM or SIGHUP ends the others: SIGTERM first, SIGKILL after a grace period or
at a second signal. SIGTERM and SIGUSR1 to a job that can save are a request to do so (see
``preemption.py``). If this process itself is killed, the children are (see ``process_pool.py``).
Everything happens in the thread that calls; there is no other.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any, Protocol

from argosy.foundation.errors import CommError
from argosy.foundation.preemption import SIGNALS
from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.launch import report
from argosy.runtime.launch.logs import Follower, LogFolder
from argosy.runtime.launch.preemption import Preemption
from argosy.runtime.launch.process import ChildProcess
from argosy.runtime.launch.process_pool import ProcessPool
from argosy.runtime.launch.process_spec import Job, ProcessSpec
from argosy.runtime.launch.roster import SERVER
from argosy.runtime.observe import memory_kills
from argosy.runtime.observe.watch import Watch

_LOOK_S = 0.05
_SERVERS_END_S = 30.0  # servers end by themselves when every worker has said goodbye


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the first process that failed for good, or a signal to this one (a negative
    exit code), or neither. ``was_asked``: to save and to leave, so nobody is started again.
    """

    failed: ProcessSpec | None = None
    exit_code: int = 0
    was_asked: bool = False


class EndedElsewhere(CommError):
    """The job is over, by what happened on another host; the message says what."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Others(Protocol):
    """The other hosts of a job whose processes are started again one by one, by their own
    launchers.
    """

    def check(self, *, is_urgent: bool) -> int:
        """Raise EndedElsewhere if they have ended the job, or are lost; the signal by which the job
        was asked to save and to leave, 0 if it was not. They are asked now and then, unless it is
        urgent.
        """

    def can_save(self, number: int) -> None:
        """Let them know that a process here saves when it is asked by this signal."""

    def ask(self, number: int) -> bool:
        """Have the whole job asked by a signal; False if nobody has said that it can save."""

    def requeue(self) -> None:
        """Let them know that the job has saved and is to be started again."""

    def is_requeued(self) -> bool:
        """Whether somebody has let the others know that."""

    def are_workers_done(self) -> bool:
        """Let them know that no worker runs here any more; whether none does anywhere."""

    def are_done(self) -> bool:
        """Let them know that nothing runs here any more; whether nothing does anywhere."""

    def tell(self, outcome: Outcome) -> None:
        """Let them know how it ended here, before the processes are ended."""


class Supervisor:
    """``run`` is the whole life of a job; who has a loop of its own calls ``start``, ``look`` and
    ``end``.

    ``check`` raises StoreFailed when a store that this process serves has died; that ends the run.
    With ``others`` the run is over when it is on all hosts.
    ``folder`` is the children's and goes with them. ``terminal`` shows the log that is followed.
    ``watch`` is closed with the run.
    From the first moment on there are resources that only ``end`` gives back; ``run`` calls it.
    """

    def __init__(
        self,
        job: Job,
        say: report.Say,
        *,
        check: Callable[[], None] | None = None,
        others: Others | None = None,
        folder: str | None = None,
        terminal: IO[bytes] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._job = job
        self._watch = watch
        self._kills = memory_kills.count()
        self._say = say
        self._check = check
        self._others = others
        self._signals: list[int] = []
        self._restarts: Counter[str] = Counter()  # by label
        self._workers_ended_s: float | None = None
        self._logs = LogFolder(job)
        self._follower: Follower | None = None
        with ExitStack() as stack:
            if watch is not None:
                stack.callback(watch.close)
            followed = self._logs.path(job.followed)
            if followed is not None:
                self._follower = Follower(followed, terminal or sys.stdout.buffer)
                stack.callback(self._follower.close)
            self._pool = stack.enter_context(ProcessPool(folder))
            self._preemption = Preemption(self._pool.group_id, job.grace_s, say, self._event)
            self._open = stack.pop_all()

    def run(self) -> Outcome:
        """Start the processes and wait, with handlers of signals in place from before the first
        one; returns when every one has ended and what happened was said.
        """
        before = install_handlers(lambda number, frame: self._signals.append(number))
        try:
            outcome = self._until_outcome()
            if self._others is not None:
                self._others.tell(outcome)
        finally:
            self.end()
            restore_handlers(before)
        if outcome.failed is not None:
            self.report(outcome)
        else:
            self.report_end(outcome)
        return outcome

    def _until_outcome(self) -> Outcome:
        try:
            self.start()
            num_taken = 0
            while True:
                for number in self._signals[num_taken:]:
                    num_taken += 1
                    if not self.show_card(number) and not self.ask(number):
                        return Outcome(exit_code=-number)
                outcome = self.look(_LOOK_S)
                if outcome is not None:
                    return outcome
        except StoreFailed as error:
            self._say(report.store_failed(error, self._job.everyone))
            return Outcome(exit_code=1)
        except EndedElsewhere as error:
            self._say(f"launch: {error}; {self._job.everyone} are ended")
            return Outcome(exit_code=error.exit_code)

    def start(self) -> list[int]:
        """Start every process, show the table and return the pids."""
        pids = [self._start(process).pid for process in self._job.processes]
        if self._job.shows_table:
            logs = [str(self._logs.path(p) or "terminal") for p in self._job.processes]
            self._say(report.table(self._job, pids, logs))
        return pids

    def _start(self, process: ProcessSpec) -> ChildProcess:
        watch, label = self._watch, process.member.label
        with self._logs.open(process) as log:
            if watch is None:
                return self._pool.start(process, log)
            return self._pool.start(process, log, watch.inherits(label), watch.variables(label))

    def show_card(self, number: int) -> bool:
        """Tell what every process does, if the signal asks for that."""
        if number != signal.SIGQUIT or self._watch is None:
            return False
        self._watch.card("asked for (SIGQUIT)", self._ends())
        return True

    def _ends(self) -> dict[str, str]:
        kills = self._about_kills()
        ends = self._pool.ends()
        return {label: report.describe_exit(code, kills) for label, code in ends.items()}

    def _about_kills(self) -> str:
        """What the kernel says of a SIGKILL in this run."""
        return memory_kills.explain(self._kills, memory_kills.count())

    def ask(self, number: int) -> bool:
        """Take a signal as a request to save and to leave; False if it is to end the job as
        ever.
        """
        self._preemption.hear(self._pool.notices())  # a loop may have begun a moment ago
        if self._others is not None and number in SIGNALS and self._others.ask(number):
            self._preemption.begin(number)
            return True
        return self._preemption.ask(number)

    @property
    def is_asked(self) -> bool:
        """Whether the job has been asked to save and to leave."""
        return bool(self._preemption.asked)

    def look(self, timeout_s: float) -> Outcome | None:
        """Wait at most so long for something to happen; None while the job goes on."""
        failed = self._pool.wait(timeout_s)
        self._preemption.hear(self._pool.notices())
        if self._follower is not None:
            self._follower.pump()
        if self._watch is not None:
            self._watch.look()
        if self._check is not None:
            self._check()  # before a process is blamed that failed for want of the store
        if self._others is not None:
            self._hear_others(self._others, is_urgent=failed is not None)
        if failed is not None:
            code = failed.poll() or 0
            if code == self._job.requeue_code:
                self._preemption.requeue()
                if self._others is not None:
                    self._others.requeue()
            elif not self._was_over(failed) and not self._restart(failed):
                self._tell_failure(failed.spec.member.label, code)
                return Outcome(failed.spec, code, was_asked=self.is_asked)
        if self._pool.running:
            if self._preemption.is_overdue:
                return self._end_late()
            return self._end_well() if self._are_servers_overdue() else None
        return self._end_well() if self._others is None or self._others.are_done() else None

    def _tell_failure(self, label: str, code: int) -> None:
        """While the others still run: what each of them was doing."""
        if self._watch is None:
            return
        cause = report.end_of(label, code, kills=self._about_kills())
        self._event("failure", cause)
        self._watch.card(cause, self._ends())

    def _hear_others(self, others: Others, *, is_urgent: bool) -> None:
        """Before a process is blamed that failed for want of them."""
        for number in self._preemption.signals:
            others.can_save(number)
        asked = others.check(is_urgent=is_urgent)
        if asked and not self.is_asked:
            self._preemption.begin(asked)

    def _is_requeued(self) -> bool:
        """Whether the job has saved, here or, with servers, where its workers are."""
        if self._preemption.has_requeued:
            return True
        return self._others is not None and self.is_asked and self._others.is_requeued()

    def _end_well(self) -> Outcome:
        """Nobody has failed."""
        code = self._job.requeue_code if self._is_requeued() else 0
        return Outcome(exit_code=code, was_asked=self.is_asked)

    def _end_late(self) -> Outcome:
        """The time to save is over; what is saved counts."""
        if self._preemption.saved_at is not None or self._is_requeued():
            return Outcome(exit_code=self._job.requeue_code, was_asked=True)
        return Outcome(exit_code=-self._preemption.asked, was_asked=True)

    def _was_over(self, child: ChildProcess) -> bool:
        """Whether a process was killed that had done its part in the job already."""
        label, code, mark = child.spec.member.label, child.poll() or 0, child.spec.ended_file
        if code >= 0 or not mark or not Path(mark).exists():
            return False
        words = report.end_of(label, code, "its part in the job was over", self._about_kills())
        self._say(f"launch: {words}")
        return True

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
        self._event("restart", report.end_of(label, code, again))
        self._start(child.spec)
        return True

    def _refusal(self) -> str | None:
        """Why a process that was started again does not go on, if one said so."""
        paths = (Path(p.refusal_file) for p in self._job.processes if p.refusal_file)
        said = next((path for path in paths if path.is_file()), None)
        return None if said is None else said.read_text(errors="replace")

    def _are_servers_overdue(self) -> bool:
        """Whether servers still run long after the last worker has ended, of this host if the
        others are not known.
        """
        running = [child.spec.member for child in self._pool.running]
        if any(member.role != SERVER for member in running):
            return False
        if self._others is not None:
            if not self._others.are_workers_done():
                return False
        elif all(process.member.role == SERVER for process in self._job.processes):
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
            self._preemption.end()
            grace_s = 0.0 if self._preemption.is_overdue else self._job.grace_s
            for child in self._pool.end(grace_s, lambda: len(self._signals) > asked):
                if self._preemption.saved_at is not None:
                    continue  # it was only slow to go
                self._say(
                    f"launch: {child.spec.member.label} (pid {child.pid}) did not end on SIGTERM "
                    "and was killed"
                )

    def report_end(self, outcome: Outcome) -> None:
        """Say how the job ended, if nobody has failed and it has not just come to its end."""
        if outcome.was_asked and outcome.exit_code < 0:
            words = report.not_saved(self._job.grace_s, self._job.everyone)
        elif outcome.exit_code < 0:
            words = report.stopped(outcome.exit_code, self._job.everyone)
        elif outcome.exit_code == self._job.requeue_code and outcome.was_asked:
            words = report.preempted(self._preemption.saved_at, outcome.exit_code)
        else:
            return
        self._say(words)
        self._event("end", words.removeprefix("launch: "))

    def _event(self, kind: str, text: str) -> None:
        """Keep what has happened, if somebody watches."""
        if self._watch is not None:
            self._watch.event(kind, text)

    def report(self, outcome: Outcome) -> None:
        """Say which process failed first, and show the end of its log."""
        assert outcome.failed is not None
        refusal = self._refusal()
        if refusal is not None:
            self._say(f"launch: {refusal}")
        process = outcome.failed
        words = report.end_of(
            process.member.label, outcome.exit_code, self._job.after_failure, self._about_kills()
        )
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
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGQUIT]
    # nohup wants the job to outlive the terminal
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before: dict[int, Any] = {number: signal.signal(number, handler) for number in numbers}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])  # see ``kept_back``
    return before


def restore_handlers(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def kept_back() -> Iterator[None]:
    """SIGUSR1, which would end this process, waits until there are handlers; when they have gone,
    nobody is left to be asked.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGUSR1, handler)
