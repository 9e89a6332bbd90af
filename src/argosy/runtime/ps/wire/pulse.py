"""Whether a server that a call waits for is still alive: a ping every second, as long as the call
waits.

A call may wait long for other workers. A server that answers pings is left alone; one that has
answered nothing for the client's patience is given up, and the call ends with an error that names
it. A call that waits is shown to those who look at this process.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol

from argosy.foundation.account import account
from argosy.foundation.errors import ServerUnavailable

log = logging.getLogger("argosy.ps")

PATIENCE_S = 60.0
_TICK_S = 0.5
_PERIOD_S = 1.0
_PING_S = 10.0  # what an answer may take at most before another is asked for


class Watched(Protocol):
    """A server that calls wait for."""

    endpoint: str

    def ping(self, timeout_s: float) -> None:
        """Return if the server answers."""

    def tend(self) -> None:
        """Look after the connections to it: those whose host is gone are cut."""

    def end(self) -> None:
        """Wake the call that waits."""

    def place(self, op: str, table: str | tuple[str, ...]) -> str:
        """Where a call waits, for people; empty if it may well take long."""


class _Wait:
    """A block that waits for one server; if it had to be ended, the reason is raised instead of
    what it raises.
    """

    __slots__ = ("_call", "_pulse", "error", "server", "shown", "since")

    def __init__(
        self, pulse: Pulse, server: Watched, op: str, table: str | tuple[str, ...]
    ) -> None:
        self._pulse = pulse
        self.server = server
        self._call = op, table
        self.since = time.monotonic()
        self.error: ServerUnavailable | None = None  # why it was ended; set before that
        self.shown: ExitStack | None = None  # guarded by the lock of the pulse

    def show(self) -> None:
        """Have it known where it waits, until ``shown`` is closed."""
        self.shown = ExitStack()
        place = self.server.place(*self._call)
        if place:
            since_ns = int(self.since * 1e9)  # the clock is that of ``perf_counter_ns``
            self.shown.enter_context(account.long_wait(since_ns, place))

    def __enter__(self) -> None:
        self._pulse.begin(self)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._pulse.finish()
        if isinstance(error, Exception) and self.error is not None:
            raise self.error from error


class Pulse:
    """The pulse of the servers that one client talks to, one at a time. Its threads begin with the
    first call.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._wait: _Wait | None = None  # guarded by _lock
        self._is_interrupted = False  # written under _lock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def during(self, server: Watched, op: str, table: str | tuple[str, ...]) -> _Wait:
        """For ``with``: watch over a block in which this call waits for ``server``."""
        return _Wait(self, server, op, table)

    def check(self, server: Watched) -> None:
        """Raise if this client was interrupted."""
        if self._is_interrupted:
            raise ServerUnavailable(
                f"this client was closed before it asked server {server.endpoint}"
            )

    def begin(self, wait: _Wait) -> None:
        with self._lock:
            self.check(wait.server)
            self._wait = wait
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="argosy-ps-pulse", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        with self._lock:
            wait, self._wait = self._wait, None
            if wait is not None and wait.shown is not None:
                wait.shown.close()

    def interrupt(self) -> None:
        """End the call that waits, and all to come, until ``close``; may be called by any
        thread.
        """
        with self._lock:
            self._is_interrupted = True
            self._end_with("the wait for server {} was ended: the client is closed")

    def close(self) -> None:
        """End the threads; the next call begins anew."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._stop = threading.Event()
        with self._lock:
            self._is_interrupted = False

    def _watch(self) -> None:
        with ThreadPoolExecutor(1, "argosy-ps-ping") as pings:
            self._look(self._stop, pings)

    def _look(self, stop: threading.Event, pings: ThreadPoolExecutor) -> None:
        watched: _Wait | None = None
        heard_at = asked_at = 0.0
        answer: Future[None] | None = None
        while not stop.wait(_TICK_S):
            with self._lock:
                wait = self._wait
            now = time.monotonic()
            if wait is not watched:
                watched, answer = wait, None
                heard_at = now if wait is None else wait.since
            if wait is None or now - wait.since < _TICK_S:
                continue
            with self._lock:
                if self._wait is wait and wait.shown is None:
                    wait.show()
            try:
                wait.server.tend()
            except OSError as error:  # out of descriptors; pings go on
                log.warning(
                    "cannot look at the connection to server %s: %s", wait.server.endpoint, error
                )
            if answer is not None and answer.done():
                if answer.exception() is None:
                    heard_at = now
                answer = None
            if now - heard_at >= self._patience_s:
                self._give_up(wait)
            elif answer is None and now - asked_at >= _PERIOD_S:
                asked_at = now
                answer = pings.submit(wait.server.ping, min(_PING_S, self._patience_s))

    def _give_up(self, wait: _Wait) -> None:
        with self._lock:
            if self._wait is wait:
                self._end_with(
                    f"server {{}} has answered nothing for {self._patience_s:g} s, although its "
                    "connection stands: its process "
                    "may be frozen (SIGSTOP, a debugger, a machine without memory). "
                    "ARGOSY_PS_PATIENCE sets how many "
                    "seconds workers wait"
                )

    def _end_with(self, reason: str) -> None:
        """End the call that waits, if there is one; ``_lock`` is held."""
        wait = self._wait
        if wait is not None and wait.error is None:
            wait.error = ServerUnavailable(reason.format(wait.server.endpoint))
            wait.server.end()
