"""What a launcher does when a scheduler asks its job to save and to leave.

Processes that can save have said so (``foundation/notices.py``); they are sent the signal, each by
itself, because what they have started must go on until they have saved. Who is on another host
hears it from them, or from its own launcher, which hears of it (``servers/other_hosts.py``).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence

from argosy.foundation import notices
from argosy.foundation.notices import Notice
from argosy.foundation.preemption import SIGNALS
from argosy.runtime.launch.report import Say


class Preemption:
    """The requests to the job on this host, and their fate. ``group`` is the process group outside
    which nobody is signalled; ``tell`` keeps what happens.

    ``asked`` is the signal of the first request that somebody could answer, 0 while there is none;
    ``saved_at`` the step that was saved then. ``has_requeued``: a process has ended with the code
    that says so.
    """

    def __init__(
        self, group: int, grace_s: float, say: Say, tell: Callable[[str, str], None]
    ) -> None:
        self._group = group
        self._grace_s = grace_s
        self._say = say
        self._tell = tell
        self._signals_by_pid: dict[int, int] = {}  # of those that can save, as a set of bits
        self._told: set[int] = set()
        self._kept = 0  # a signal that nobody could answer yet
        self._asked_s = 0.0
        self.asked = 0
        self.saved_at: int | None = None
        self.has_requeued = False

    @property
    def signals(self) -> list[int]:
        """Those that somebody here could answer."""
        found = self._signals_by_pid.values()
        return [n for n in SIGNALS if any(bits >> n & 1 for bits in found)]

    def ask(self, number: int) -> bool:
        """Pass a signal on to those who can save; False if it is to end the job as ever."""
        if number not in SIGNALS:
            return False
        if number in self.signals:
            self.begin(number)
            return True
        if number == signal.SIGTERM and not self.asked:
            return False
        if not self.asked and not self._kept:
            self._kept = number
            self._say(
                "launch: received SIGUSR1, but no process has a loop of fleet.auto_checkpoint so "
                "far; when one begins it will be asked to save and to leave"
            )
        return True

    def hear(self, told: Sequence[Notice]) -> None:
        """Take in what processes have told."""
        for notice in told:
            if notice.kind == notices.LOOP:
                self._signals_by_pid[notice.pid] = notice.number
                if self._kept and not self.asked:
                    self.begin(self._kept)
            elif notice.kind == notices.LEFT:
                self._signals_by_pid.pop(notice.pid, None)
            elif notice.kind == notices.SAVED:
                self._signals_by_pid.pop(notice.pid, None)
                if self.saved_at != notice.number:
                    self._tell("saved", f"the job has saved at step {notice.number}")
                self.saved_at = notice.number
            elif not self.asked:
                self.begin(notice.number or signal.SIGUSR1)
        if self.asked:
            self._pass_on()

    def requeue(self) -> None:
        """A process has ended with the code that asks for the job to be started again."""
        self.has_requeued = True
        if not self.asked:
            self.begin(signal.SIGUSR1)

    @property
    def is_overdue(self) -> bool:
        """Whether the time to save is over."""
        return bool(self.asked) and time.monotonic() - self._asked_s > self._grace_s

    def begin(self, number: int) -> None:
        """The job is to save and to leave, whoever can, from now on."""
        if not self.asked:
            self.asked, self._asked_s = number, time.monotonic()
            asked = f"asked by {signal.Signals(number).name} to save and to leave"
            self._say(f"launch: {asked}, within {self._grace_s:g} s")
            self._tell("request", asked)
        self._pass_on()

    def _pass_on(self) -> None:
        for pid, bits in self._signals_by_pid.items():
            number = next((n for n in (self.asked, *SIGNALS) if bits >> n & 1), None)
            if number is not None and pid not in self._told:
                self._told.add(pid)
                self._signal(pid, number)

    def end(self) -> None:
        """End those for whom SIGTERM is a request, as it ends others: at once."""
        for pid, bits in self._signals_by_pid.items():
            if bits >> signal.SIGTERM & 1:
                self._signal(pid, signal.SIGKILL)

    def _signal(self, pid: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            if os.getpgid(pid) == self._group:
                os.kill(pid, number)
