"""The last steps of one process, in memory that it shares with its launcher.

::

    0       pid of the writer; 0 until it has come
    8       rank
    16      ranks of the job
    24      steps written so far; stored last
    32      waits so far; odd while one is under way, so ``place`` is true
    40      when that wait began (monotonic clock, ns)
    48      length of ``place`` in bytes
    56      what is asked of the writer: how many steps it is to trace (see ``Request``)
    64      place: where the writer waits and for whom, in words, a line feed, and the ranks that
            it waits for (448 bytes)
    512     step n lies at 512 + (n % CAPACITY) * STEP_BYTES:
            number, began_ns, wall_ns, six times of its parts, latest rank, loss, told
    CALLS   the last collectives (foundation/call_log.py)
    PLAN    length of the plan in bytes, then its text

One process writes, any may read; what is asked is written by who asks. A reader takes a step only
if its number is the expected one before and after the copy; what was overwritten meanwhile is
counted as lost.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from argosy.foundation import call_log
from argosy.foundation.account import NAMES, Step

CAPACITY = 4096
_HEADER = 512
_STEP = struct.Struct("<10qdq")
_CALLS = _HEADER + CAPACITY * _STEP.size
_PLAN = _CALLS + call_log.BYTES
_PLAN_BYTES = 8192
RING_BYTES = _PLAN + 8 + _PLAN_BYTES
_WORD = struct.Struct("<q")
_WHO = struct.Struct("<3q")
_WAIT = struct.Struct("<2q")
_COUNT, _WAITS, _SINCE, _REQUEST, _PLACE = 24, 32, 40, 56, 64
_PLACE_BYTES = _HEADER - _PLACE
_MOST_RANKS = 16

# what readers get: the fields of a step, times in nanoseconds
STEPS = np.dtype(
    [(name, "<i8") for name in ("number", "began", "wall", *NAMES, "latest")]
    + [("loss", "<f8"), ("told", "<i8")]
)


@dataclass(frozen=True)
class LongWait:
    """A wait that has already taken long: since when, for what, and for which ranks."""

    since_ns: int
    place: str
    awaited: tuple[int, ...] = ()


class Request(NamedTuple):
    """The request of that number: to trace the next ``num_steps``, or 0, to trace no more."""

    number: int
    num_steps: int


Answer = Callable[[Request, bool], bool]


class RingWriter:
    """The end of the process that trains, on ``memory`` of RING_BYTES.

    ``answer`` is called with a request when a step has ended (True) and when somebody looks
    (False), until it says that it has done what was asked.
    """

    def __init__(
        self,
        memory: memoryview,
        pid: int,
        rank: int,
        world_size: int,
        answer: Answer | None = None,
    ) -> None:
        self._memory = memory
        self._answer = answer
        self._answering = threading.Lock()  # a server looks in many threads
        # of the last one; what was asked of a process that was here before is not for this one
        self._answered = int(_WORD.unpack_from(memory, _REQUEST)[0])
        _WORD.pack_into(memory, _COUNT, 0)
        self._num_waits = 0
        _WORD.pack_into(memory, _WAITS, 0)
        _WORD.pack_into(memory, _PLAN, 0)
        self.calls = call_log.CallLog(memory[_CALLS:_PLAN])
        _WHO.pack_into(memory, 0, pid, rank, world_size)

    def add(self, step: Step) -> None:
        """Write a step; steps come with their numbers in order, from 1 on."""
        number, began_ns, wall_ns, spent_ns, latest, loss, told = step
        memory = self._memory
        at = _HEADER + number % CAPACITY * _STEP.size
        _STEP.pack_into(memory, at, number, began_ns, wall_ns, *spent_ns, latest, loss, told)
        _WORD.pack_into(memory, _COUNT, number)
        if _WORD.unpack_from(memory, _REQUEST)[0] != self._answered:
            self._hear(is_step=True)

    def look(self) -> None:
        if _WORD.unpack_from(self._memory, _REQUEST)[0] != self._answered:
            self._hear(is_step=False)

    def _hear(self, is_step: bool) -> None:
        with self._answering:
            word = int(_WORD.unpack_from(self._memory, _REQUEST)[0])
            request = Request(word >> 32, word & 0xFFFFFFFF)
            if self._answer is None or self._answer(request, is_step):
                self._answered = word

    def begin_wait(self, since_ns: int, place: str, awaited: Sequence[int] = ()) -> None:
        """This process has been waiting for some time at ``place`` for the ranks ``awaited``;
        ``end_wait`` follows.
        """
        ranks = ("\n" + ",".join(map(str, awaited[:_MOST_RANKS]))).encode()
        text = place.encode()[: _PLACE_BYTES - len(ranks)] + ranks
        memory = self._memory
        memory[_PLACE : _PLACE + len(text)] = text
        _WAIT.pack_into(memory, _SINCE, since_ns, len(text))
        self._num_waits += 2
        _WORD.pack_into(memory, _WAITS, self._num_waits - 1)

    def end_wait(self) -> None:
        _WORD.pack_into(self._memory, _WAITS, self._num_waits)

    def tell_plan(self, text: str) -> None:
        """How the writer trains, for people."""
        data = text.encode()[:_PLAN_BYTES]
        self._memory[_PLAN + 8 : _PLAN + 8 + len(data)] = data
        _WORD.pack_into(self._memory, _PLAN, len(data))


def ask(memory: memoryview, request: Request) -> None:
    """Have the writer of a ring hear a request, which has a number that none before had, or that of
    the last one to end it.
    """
    _WORD.pack_into(memory, _REQUEST, request.number << 32 | request.num_steps)


class RingReader:
    """The end of whoever looks on; it never disturbs the writer."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._slots: npt.NDArray[Any] = np.frombuffer(memory, STEPS, CAPACITY, _HEADER)
        self._seen = 0
        self._pid = 0
        self.num_lost = 0

    @property
    def pid(self) -> int:
        """The writer's, 0 until it has come."""
        return int(_WORD.unpack_from(self._memory, 0)[0])

    @property
    def rank(self) -> int:
        return int(_WHO.unpack_from(self._memory, 0)[1])

    def new_steps(self) -> npt.NDArray[Any]:
        """The steps since the last call, as rows of STEPS. A process that was started again begins
        anew.
        """
        pid, count = self.pid, int(_WORD.unpack_from(self._memory, _COUNT)[0])
        if pid != self._pid:
            self._pid, self._seen = pid, 0
        first = max(self._seen + 1, count - CAPACITY + 1)
        numbers = np.arange(first, count + 1)
        found = self._slots[numbers % CAPACITY].copy()
        # a step that the writer was overwriting has another number than the one it should have
        whole = (found["number"] == numbers) & (
            self._slots["number"][numbers % CAPACITY] == numbers
        )
        self.num_lost += max(0, first - self._seen - 1) + int((~whole).sum())
        self._seen = max(self._seen, count)
        return found[whole]

    def long_wait(self) -> LongWait | None:
        """The wait that the writer is in, if it has taken long enough to be told."""
        before = _WORD.unpack_from(self._memory, _WAITS)[0]
        since_ns, length = _WAIT.unpack_from(self._memory, _SINCE)
        text = bytes(self._memory[_PLACE : _PLACE + min(max(length, 0), _PLACE_BYTES)])
        if before % 2 == 0 or _WORD.unpack_from(self._memory, _WAITS)[0] != before:
            return None
        place, _, ranks = text.decode(errors="replace").partition("\n")
        return LongWait(since_ns, place, tuple(int(r) for r in ranks.split(",") if r.isdigit()))

    def calls(self) -> list[call_log.Call]:
        """The last collectives of the writer, the oldest first."""
        return call_log.read(self._memory[_CALLS:_PLAN]) if self.pid else []

    def plan(self) -> str:
        """How the writer trains, in its own words; empty while it has not said."""
        length = min(max(_WORD.unpack_from(self._memory, _PLAN)[0], 0), _PLAN_BYTES)
        return bytes(self._memory[_PLAN + 8 : _PLAN + 8 + length]).decode(errors="replace")
