"""SIGUSR1 and SIGTERM as a request to save and to leave, as schedulers send it to a job that must
make room.

Somebody who can save (a loop of ``fleet.auto_checkpoint``) watches; without one both signals do
what they did before.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import weakref
from types import FrameType
from typing import Any

from argosy.foundation import env, notices
from argosy.foundation.errors import ConfigError
from argosy.foundation.process_state import register

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)
CODE_VARIABLE = "ARGOSY_REQUEUE_CODE"
REQUEUE_CODE = 75  # EX_TEMPFAIL of sysexits.h: try again later


def requeue_code() -> int:
    """The exit code by which a scheduler knows a job that has saved and is to be started again."""
    code = env.integer(CODE_VARIABLE, REQUEUE_CODE)
    if not 0 < code < 256:
        raise ConfigError(
            f"the environment variable {CODE_VARIABLE} must be from 1 to 255, but is {code}"
        )
    return code


class Watcher:
    """Somebody who can save."""

    def takes(self, number: int) -> bool:
        """Whether this signal is a request that will be answered."""
        return True

    def on_request(self, number: int) -> None:
        """A signal has come; called in its handler."""


class Requests:
    """What this process was asked for. ``signal`` is the first request's, 0 while there is none."""

    def __init__(self) -> None:
        self.signal = 0
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        self._before: dict[int, Any] = {}  # the handlers that were replaced, by signal
        self._pid = 0

    @property
    def is_watched(self) -> bool:
        """Whether signals are taken as requests here, or were in the process that forked this
        one.
        """
        return bool(self._before)

    def watch(self, watcher: Watcher, is_announced: bool = True) -> None:
        """Take signals as requests from now on; a second call changes nothing. Handlers that the
        script has set itself stay. Whoever does not yet know whether it takes them announces
        itself later.
        """
        is_new = watcher not in self._watchers
        self._watchers.add(watcher)
        if threading.current_thread() is threading.main_thread():
            self._install()
        if is_new and is_announced:
            self.announce()

    def announce(self) -> None:
        """Let the launcher know; any thread may call it."""
        if self._before:
            notices.tell(notices.LOOP, sum(1 << number for number in self._before))

    def leave(self, watcher: Watcher) -> None:
        """The watcher can save no more, so signals do what they did. One that it has not answered
        is forgotten: an error may be what ends it, and is to be seen.
        """
        if watcher not in self._watchers:
            return
        self._watchers.discard(watcher)
        if self._watchers or threading.current_thread() is not threading.main_thread():
            return
        self.close()
        notices.tell(notices.LEFT)

    def depart(self, num_steps: int) -> None:
        """Everything is saved and this process ends: further signals must not disturb that."""
        notices.tell(notices.SAVED, num_steps)
        self._ignore()

    def _end(self) -> None:
        """The script has come to its end."""
        if self._before and os.getpid() == self._pid:
            notices.tell(notices.LEFT)
            self._ignore()

    def _ignore(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in self._before:
                # not a handler: the interpreter would put the deadly action back before it is gone
                signal.signal(number, signal.SIG_IGN)
        self._before.clear()
        self._watchers.clear()

    def close(self) -> None:
        """Be as before the first watcher."""
        for number in list(self._before):
            self._put_back(number)
        self._watchers.clear()
        self.signal = 0

    def _install(self) -> None:
        if not self._pid:
            atexit.register(self._end)
        self._pid = os.getpid()
        for number in SIGNALS:
            found = signal.getsignal(number)
            # a launcher has its processes begin with SIGUSR1 ignored; a handler may give way, to be
            # called when the process ends by the signal after all
            is_free = (
                found is signal.SIG_DFL
                or getattr(found, "gives_way", False)
                or (number == signal.SIGUSR1 and found is signal.SIG_IGN)
            )
            if number not in self._before and is_free:
                self._before[number] = signal.signal(number, self._handle)

    def _put_back(self, number: int) -> None:
        before = self._before.pop(number, None)
        if before is not None and signal.getsignal(number) == self._handle:
            signal.signal(number, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:
            self._handle_in_child(number)
            return
        watchers = [watcher for watcher in self._watchers if watcher.takes(number)]
        if not watchers:
            self._put_back(number)
            signal.raise_signal(number)
            return
        if not self.signal:
            self.signal = number
            notices.tell(notices.ASKED, number)
        for watcher in watchers:
            watcher.on_request(number)

    def _handle_in_child(self, number: int) -> None:
        """A forked child has nothing to save, but its parent may need it to."""
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def _watched(requests: Requests) -> tuple[int, bool]:
    return requests.signal, requests.is_watched


requests = register(
    "requests to save and leave", made := Requests(), state=lambda: _watched(made), reset=made.close
)


def shield_child() -> None:
    """In a child whose work a loop needs until it has saved: requests do not end it, wherever they
    come from; its parent's SIGTERM does.
    """
    if not requests.is_watched:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # threads that are started later too
    threading.Thread(target=_end_for_parent, name="argosy-shield", daemon=True).start()


def _end_for_parent() -> None:
    while True:
        found = signal.sigwaitinfo(SIGNALS)
        if found.si_signo == signal.SIGTERM and found.si_pid == os.getppid():
            os._exit(0)
