"""What this process does, event by event, while somebody wants to know.

Who waits, exchanges, loads or serves says so here, with the times when it began and ended. While
nobody records that is one look at an attribute: ``if trace.recordings:``. Times are those of
``time.perf_counter_ns``, which all processes of a host share; ``runtime/observe`` makes files of
them.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from argosy.foundation import process_state
from argosy.foundation.clock import Offset
from argosy.foundation.errors import ArgosyError

LIMIT = 1 << 17  # events of one recording: some 50 MB at most
PUBLISHED, REDUCED = "publish", "reduce"  # categories of the two ends of a bucket's arrows
KEY = "key"  # the argument by which these ends find each other, the same on every rank


class Event(NamedTuple):
    """Something that took from ``began_ns`` to ``ended_ns`` in one thread. ``track`` is the thread
    as the system numbers it, or STEPS.
    """

    name: str
    category: str
    track: int
    began_ns: int
    ended_ns: int
    about: Mapping[str, Any] | None


STEPS = 0x7FFF0000  # the track of steps, which is no thread's: no system numbers so many


class Recording:
    """The last events since it was started, at most ``limit``."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.began_ns = time.perf_counter_ns()
        self._events: deque[Event] = deque(maxlen=limit)
        self._count = itertools.count(1)  # threads record at once; both steps are atomic
        self._num_added = 0

    def add(self, event: Event) -> None:
        self._events.append(event)
        self._num_added = next(self._count)

    @property
    def events(self) -> list[Event]:
        return list(self._events)

    @property
    def num_lost(self) -> int:
        """Events that had to give way to later ones."""
        return max(0, self._num_added - len(self._events))


class Trace:
    """The recordings that go on in this process, and the one place where events are told."""

    def __init__(self) -> None:
        self.recordings: tuple[Recording, ...] = ()
        self.rank: int | None = None  # as the job that was last joined counts
        self.name_by_thread: dict[int, str] = {}
        self._began_ns_by_mark: dict[int, int] = {}  # of waits of the account under way
        self._compare: Callable[[], Offset | None] | None = None
        self.last_offset: Offset | None = None  # of the clock of the job, as it was last measured

    def start(self, limit: int = LIMIT) -> Recording:
        """Record from now on, until ``stop``."""
        recording = Recording(limit)
        self.recordings = (*self.recordings, recording)
        return recording

    def stop(self, recording: Recording) -> None:
        """Record no more; to stop twice does nothing."""
        self.recordings = tuple(each for each in self.recordings if each is not recording)
        if not self.recordings:
            self._began_ns_by_mark.clear()

    def join_job(self, rank: int, compare: Callable[[], Offset | None] | None = None) -> None:
        """This process is ``rank`` of a job, whose clock lies to ours as ``compare`` finds out, if
        that can be known.
        """
        self.rank, self._compare, self.last_offset = rank, compare, None
        self.offset()

    def leave_job(self) -> None:
        """The job ends; what its clock was is known on."""
        self.offset()
        self.rank = self._compare = None

    def offset(self) -> Offset | None:
        """How the clock of the job lies to ours; only asked for while somebody records."""
        if self._compare is not None and self.recordings:
            with contextlib.suppress(ArgosyError):  # whoever has it may have gone
                self.last_offset = self._compare()
        return self.last_offset

    def add(
        self,
        name: str,
        category: str,
        began_ns: int,
        about: Mapping[str, Any] | None = None,
        *,
        ended_ns: int | None = None,
        track: int | None = None,
    ) -> None:
        """This thread, or ``track``, has done ``name`` since ``began_ns``, until now unless told
        otherwise.
        """
        ended_ns = time.perf_counter_ns() if ended_ns is None else ended_ns
        if track is None:
            track = threading.get_native_id()
            if track not in self.name_by_thread:
                self.name_by_thread[track] = threading.current_thread().name
        event = Event(name, category, track, began_ns, ended_ns, about)
        for recording in self.recordings:
            recording.add(event)

    def enter(self, mark: int, now_ns: int) -> None:
        """A wait of the account begins, which is known by its mark."""
        self._began_ns_by_mark[mark] = now_ns

    def leave(self, mark: int, name: str) -> None:
        """It ends; one that began before anybody recorded is left out."""
        began_ns = self._began_ns_by_mark.pop(mark, None)
        if began_ns is not None:
            self.add(name, "wait", began_ns)


trace = process_state.register("foundation.trace", Trace(), attributes=("recordings",))
