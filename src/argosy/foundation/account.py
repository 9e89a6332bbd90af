"""Where the time of this process's training steps goes.

Whoever lets a step wait says for what: collectives, data loaders, parameter servers, checkpoints.
Who updates the parameters says that a step has ended. What nobody has named is computation. An
account costs two readings of the clock and some additions for each wait, so it is always kept;
``runtime/observe`` shows it to others by setting ``listener``.

Only one thread's time is a step's: that of the thread that ended the last step, the main thread
until then. What other threads do meanwhile is hidden behind it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from argosy.foundation import process_state
from argosy.foundation.call_log import CallLog
from argosy.foundation.trace import STEPS, trace

COMMUNICATION, WAITING, DATA, PULL, PUSH, CHECKPOINT = KINDS = range(6)
NAMES = ("communication", "waiting", "data", "pull", "push", "checkpoint")
NOBODY = UNTOLD = -1


class Step(NamedTuple):
    """One step: when it began (of the monotonic clock) and how long it took, in nanoseconds; what
    each of ``KINDS`` took of it. ``latest`` is the rank that was waited for the longest, ``told``
    the number that the script gives the step.
    """

    number: int
    began_ns: int
    wall_ns: int
    spent_ns: tuple[int, ...]
    latest: int = NOBODY
    loss: float = math.nan
    told: int = UNTOLD

    @property
    def compute_ns(self) -> int:
        return self.wall_ns - sum(self.spent_ns)


class Listener(Protocol):
    """Who shows an account to others."""

    def add(self, step: Step) -> None:
        """A step has ended."""

    def begin_wait(self, since_ns: int, place: str, awaited: Sequence[int]) -> None:
        """This process has been waiting for some time at ``place`` for the ranks ``awaited``;
        ``end_wait`` follows.
        """

    def end_wait(self) -> None: ...

    def look(self) -> None:
        """See whether something is asked of this process; who has no steps calls it now and
        then.
        """

    def tell_plan(self, text: str) -> None:
        """How this process trains, for people."""


class Account:
    """The step under way. A wait is ``mark = enter()``, then ``leave(kind, mark)``; one inside
    another counts for itself alone. Where a frame counts, the few lines of both are written out.
    """

    thread: int | None
    _number: int
    _began_ns: int
    named_ns: int  # of all kinds together, in this step
    spent_ns: list[int]  # by kind
    _waited_ns: dict[int, int]  # by rank
    loss: float  # what the script says of the step under way
    told: int

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._held: list[tuple[int, list[int]]] = []
        self.calls: CallLog | None = None  # the last collectives, if somebody wants to know
        self._showing = threading.Lock()  # held by the thread whose wait is shown
        self.restart()
        self.thread = threading.main_thread().ident

    def restart(self) -> None:
        """Begin the first step now: what was before, imports for instance, is no step."""
        listener, self.listener = self.listener, None
        self._number = -1  # what ends now is no step
        self.end_step()
        self.listener = listener

    def enter(self) -> int:
        """Begin a wait of this thread."""
        now_ns = time.perf_counter_ns()
        mark = now_ns - self.named_ns
        if trace.recordings:
            trace.enter(mark, now_ns)
        return mark

    def leave(self, kind: int, mark: int) -> None:
        """End the wait that ``mark`` began; ``kind`` is what for."""
        if trace.recordings:
            trace.leave(mark, NAMES[kind])
        if threading.get_ident() == self.thread:
            # now - named is the clock without what was named meanwhile, by waits inside this one
            own_ns = time.perf_counter_ns() - self.named_ns - mark
            self.named_ns += own_ns
            self.spent_ns[kind] += own_ns

    def hold(self, since_ns: int, ended_ns: list[int]) -> None:
        """This thread waits from ``since_ns`` on, in code that does not tell, for a collective that
        puts into ``ended_ns`` when it has ended.
        """
        self._held.append((since_ns, ended_ns))

    def _settle(self, now_ns: int) -> None:
        """Count the waits that were held: all at once, since they begin together."""
        since_ns = min(since for since, _ in self._held)
        until_ns = max(ended[0] if ended else now_ns for _, ended in self._held)
        self._held.clear()
        if until_ns > since_ns:
            self.spent_ns[COMMUNICATION] += until_ns - since_ns

    @contextmanager
    def waiting_for(self, kind: int) -> Iterator[None]:
        """The same for a block that is not in a hurry."""
        mark = self.enter()
        try:
            yield
        finally:
            self.leave(kind, mark)

    @contextmanager
    def taken_over(self) -> Iterator[None]:
        """While the thread whose time is a step's does nothing but wait for this one, what this one
        waits for counts in its place.
        """
        before, self.thread = self.thread, threading.get_ident()
        try:
            yield
        finally:
            self.thread = before

    def blame(self, rank: int, waited_ns: int) -> None:
        """Of the communication that this thread is in, so long was spent waiting for ``rank``."""
        if threading.get_ident() == self.thread:
            self.spent_ns[WAITING] += waited_ns
            self.spent_ns[COMMUNICATION] -= waited_ns
            self._waited_ns[rank] = self._waited_ns.get(rank, 0) + waited_ns

    @contextmanager
    def long_wait(self, since_ns: int, place: str, awaited: Sequence[int] = ()) -> Iterator[None]:
        """Show that this process waits, and has for some time, for the ranks ``awaited``; one wait
        at a time is shown.
        """
        listener = self.listener
        if listener is None or not self._showing.acquire(blocking=False):
            yield
            return
        try:
            listener.begin_wait(since_ns, place, awaited)
            yield
        finally:
            listener.end_wait()
            self._showing.release()

    def tell_plan(self, text: str) -> None:
        """Show how this process trains."""
        if self.listener is not None:
            self.listener.tell_plan(text)

    def end_step(self) -> None:
        """The parameters are updated; the next step begins. One frame: small programs run
        thousands of times a second.
        """
        now_ns = time.perf_counter_ns()
        if self._held:
            self._settle(now_ns)
        self.thread = threading.get_ident()
        self._number += 1
        if trace.recordings and self._number:
            self._trace_step(now_ns)
        if self.listener is not None:
            waited = self._waited_ns
            self.listener.add(
                Step(
                    self._number,
                    self._began_ns,
                    now_ns - self._began_ns,
                    tuple(self.spent_ns),
                    max(waited, key=waited.__getitem__) if waited else NOBODY,
                    self.loss,
                    self.told,
                )
            )
        self._began_ns = now_ns
        self.named_ns = 0
        self.spent_ns = [0] * len(KINDS)
        self._waited_ns = {}
        self.loss, self.told = math.nan, UNTOLD

    def _trace_step(self, now_ns: int) -> None:
        about: dict[str, float] = {} if math.isnan(self.loss) else {"loss": self.loss}
        if self.told != UNTOLD:
            about["script_step"] = self.told
        name = f"step {self._number}"
        trace.add(name, "step", self._began_ns, about, ended_ns=now_ns, track=STEPS)


account = process_state.register("foundation.account", Account(), attributes=("listener", "calls"))
