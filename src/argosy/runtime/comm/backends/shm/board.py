"""The board: what the ranks of one host wait for, in all their groups, where each of them can read
it.

A job has one per host, whose rows are the ranks of the job; a group that was made without a job has
its own. A rank that has waited for a moment writes down where, and for which ranks. Ranks that wait
for each other in a circle, whatever the groups, will do so for ever: whoever finds the circle
raises the error and leaves a verdict that names the other members, which then raise it too.

A circle is certain once every member has looked again, in the same wait, after all the waits were
seen: what a rank misses it has missed since its wait began, so at that moment all of them waited. A
rank that is stopped or starved does not look, and is not accused.

Only the main thread takes part, and only while nothing that its rank has submitted is under way: it
does one thing at a time, whereas a queue may wait while its rank goes on working. A rank that also
communicates in threads of its own is left out once one of them has waited.

Of a job on several hosts the boards are joined by ``distant.py``.

::

    row of a rank, int64: pid, left, number of the wait, waiting, looks, has other threads
    text of its wait, 160 bytes
    awaited ranks, a byte each
    its verdict: for each rank the number of the wait that cannot end, 0 if none; then the circle as
    JSON
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm.backends.shm.distant import Distant, DistantWait, Row
from argosy.runtime.comm.backends.shm.peers import Peers
from argosy.runtime.comm.backends.shm.segment import Segment

if TYPE_CHECKING:
    import numpy.typing as npt

LOOK_S = 0.05
_SURE_S = 1.0
_SURE_LOOKS = 2

_FIELDS = 8
_PID, _LEFT, _NUMBER, _WAITING, _LOOKS, _THREADS = range(6)
_TEXT_BYTES = 160
_VERDICT_BYTES = 1 << 10  # for each member of a circle: its text may need six bytes for one in JSON
_MAX_VERDICT_BYTES = 1 << 15  # of a circle; in longer ones the texts are cut short

# rank, process and place of each, in the order in which each waits for the next
Circle = list[tuple[int, str, str]]


def board_bytes(world_size: int) -> int:
    """What a board of ``world_size`` ranks takes."""
    row = _FIELDS * 8 + 8 * world_size + _TEXT_BYTES + _verdict_bytes(world_size)
    return world_size * row + _round_up(world_size * world_size)


def _verdict_bytes(world_size: int) -> int:
    return min(world_size * _VERDICT_BYTES, _MAX_VERDICT_BYTES)


def _round_up(count: int) -> int:
    return -(-count // 8) * 8


class Board:
    """Rank ``rank``'s view of the board at ``offset`` of ``segment``. Rows of ranks on other hosts
    stay empty.
    """

    def __init__(self, segment: Segment, offset: int, rank: int, world_size: int) -> None:
        self.rank = rank
        self.world_size = n = world_size
        # whether something that this rank has submitted is under way
        self.is_busy: Callable[[], bool] = _never
        self.distant: Distant | None = None  # where the job has other hosts
        self._peers = Peers()

        def part(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
            nonlocal offset
            array = segment.array(offset, shape, dtype)
            offset += _round_up(array.nbytes)
            return array

        self.fields = part((n, _FIELDS), np.int64)
        self.verdicts = part((n, n), np.int64)
        self.texts = part((n, _TEXT_BYTES), np.uint8)
        self.circles = part((n, _verdict_bytes(n)), np.uint8)
        self.awaited = part((n, n), np.uint8)

    def enter(self, pids: dict[int, int] | None = None) -> None:
        """Write down processes: this one, or those of ``pids`` by rank."""
        for rank, pid in (pids or {self.rank: os.getpid()}).items():
            self.fields[rank, _PID] = pid

    def leave(self) -> None:
        """Say that this rank takes no further part in anything."""
        self.fields[self.rank, _LEFT] = 1

    def pid_of(self, rank: int) -> int:
        """The process of ``rank``; 0 before it is known, and where that is on another host."""
        return 0 if self.is_closed else int(self.fields[rank, _PID])

    def num_here(self) -> int:
        """How many ranks have written themselves down on this host."""
        return int(np.count_nonzero(self.fields[:, _PID]))

    def who(self, rank: int) -> str:
        pid = self.pid_of(rank)
        return f"rank {rank} (pid {pid})" if pid else f"rank {rank} (not seen yet)"

    def fates(self) -> dict[int, str]:
        """What became of the ranks that are not there any more. Flags first, processes second: a
        rank that leaves may then exit.
        """
        return self.leavers() | self.exits()

    def leavers(self) -> dict[int, str]:
        """The ranks that have left the job."""
        return dict.fromkeys(np.flatnonzero(self.fields[:, _LEFT]).tolist(), "left the job")

    def exits(self) -> dict[int, str]:
        """The ranks whose process has exited."""
        for r in np.flatnonzero(self.fields[:, _PID]).tolist():
            if r != self.rank:
                self._peers.watch(r, self.pid_of(r))
        return dict.fromkeys(self._peers.lost(), "exited")

    @property
    def is_closed(self) -> bool:
        return not len(self.fields)

    def close(self) -> None:
        """Let go of the memory, which a traceback may outlive."""
        self._peers.close()
        for name in ("fields", "texts", "awaited", "verdicts", "circles"):
            setattr(self, name, getattr(self, name)[:0].copy())


@dataclass(frozen=True)
class Seat:
    """Who the ranks of a group are: ``ranks[r]`` is the row of its rank r on ``board``, which is
    mostly that of the job.
    """

    board: Board
    ranks: Sequence[int]
    is_alone: bool = False  # nobody else has this board

    def leave(self) -> None:
        """Let go of a board that is only for this seat."""
        if self.is_alone:
            self.board.close()


def lonely_seat(rank: int, world_size: int) -> Seat:
    """That of rank ``rank`` of a group without a job, on a board that no other rank sees."""
    segment = Segment.create("board", board_bytes(world_size))
    board = Board(segment, 0, rank, world_size)
    segment.close()  # the board keeps the memory
    return Seat(board, range(world_size), is_alone=True)


class Wait:
    """One wait of this rank at ``place``: visible to the others from its second look until
    ``end``.
    """

    def __init__(self, board: Board, place: str) -> None:
        self._board = board
        self._place = place
        self._is_shown = False
        self._seen: tuple[tuple[tuple[int, int], ...], float, list[int]] | None = None
        self._distant: DistantWait | None = None
        thread = threading.current_thread()
        self._may_show = thread is threading.main_thread()
        if not self._may_show and not thread.name.startswith("argosy-") and not board.is_closed:
            board.fields[board.rank, _THREADS] = 1

    def look(self, missing: Sequence[int]) -> CollectiveMismatch | None:
        """Write down that ``missing`` are still awaited; the error if this wait cannot end."""
        board = self._board
        if board.is_closed or not self._may_show or board.is_busy():
            self._hide()
            return None
        row = board.fields[board.rank]
        awaited = np.zeros(board.world_size, np.uint8)
        awaited[list(missing)] = 1
        board.awaited[board.rank] = awaited
        if not self._is_shown:
            self._show(row)
        row[_LOOKS] += 1
        found = self._verdict_here() or self._certain_circle()
        if found is None and self._distant is not None and not row[_THREADS]:
            found = _of_rows(self._distant.look(missing))
        return None if found is None else _deadlock(found, board.rank)

    def verdict(self) -> CollectiveMismatch | None:
        """The error if another rank has found this wait in a circle."""
        found = self._verdict_here()
        if found is None and self._distant is not None:
            found = _of_rows(self._distant.verdict())
        return None if found is None else _deadlock(found, self._board.rank)

    def _verdict_here(self) -> Circle | None:
        """The circle that another rank of this host has found this wait in."""
        board = self._board
        if board.is_closed or not self._is_shown:
            return None
        number = board.fields[board.rank, _NUMBER]
        for r in np.flatnonzero(board.verdicts[:, board.rank] == number).tolist():
            text = bytes(board.circles[r]).rstrip(b"\0")
            return [(rank, who, place) for rank, who, place in json.loads(text)]
        return None

    def end(self) -> None:
        self._hide()

    def _show(self, row: npt.NDArray[Any]) -> None:
        text = self._place.encode()[:_TEXT_BYTES]
        self._board.texts[self._board.rank] = np.frombuffer(
            text.ljust(_TEXT_BYTES, b"\0"), np.uint8
        )
        row[_NUMBER] += 1
        row[_WAITING] = 1
        self._is_shown = True
        if self._board.distant is not None:
            who = f"pid {self._board.pid_of(self._board.rank)}"
            self._distant = DistantWait(
                self._board.distant, int(row[_NUMBER]), text.decode(errors="replace"), who
            )

    def _hide(self) -> None:
        distant, self._distant = self._distant, None
        if distant is not None:
            distant.end()
        if self._is_shown and not self._board.is_closed:
            self._board.fields[self._board.rank, _WAITING] = 0
        self._is_shown = False
        self._seen = None

    def _certain_circle(self) -> Circle | None:
        """The circle that this wait is in, once it is certain; the others are told."""
        board = self._board
        members = _circle(board.rank, board.fields, board.awaited)
        if members is None:
            self._seen = None
            return None
        waits = tuple((r, int(board.fields[r, _NUMBER])) for r in members)
        looks = [int(board.fields[r, _LOOKS]) for r in members]
        now = time.monotonic()
        if self._seen is None or self._seen[0] != waits:
            self._seen = (waits, now, looks)
            return None
        _, since, first = self._seen
        if now - since < _SURE_S or any(
            b < a + _SURE_LOOKS for a, b in zip(first, looks, strict=True)
        ):
            return None
        # for each in JSON: numbers, and up to six bytes for a letter
        room = board.circles.shape[1] // len(members)
        found = [
            (
                r,
                f"pid {board.pid_of(r)}",
                bytes(board.texts[r])
                .rstrip(b"\0")
                .decode(errors="replace")[: max(0, room - 40) // 6],
            )
            for r in members
        ]
        self._tell(waits, found)
        return found

    def _tell(self, waits: tuple[tuple[int, int], ...], found: Circle) -> None:
        board = self._board
        row = board.circles[board.rank]
        text = json.dumps(found, ensure_ascii=False).encode().ljust(len(row), b"\0")
        board.verdicts[board.rank] = 0
        row[:] = np.frombuffer(text, np.uint8)
        for rank, number in waits:
            board.verdicts[board.rank, rank] = number


def _circle(start: int, fields: npt.NDArray[Any], awaited: npt.NDArray[Any]) -> list[int] | None:
    """The shortest way from rank ``start`` along waits back to it, without the last step."""
    usable = (fields[:, _WAITING] == 1) & (fields[:, _THREADS] == 0)
    before: dict[int, int] = {}
    ranks = [start] if usable[start] else []
    for rank in ranks:  # grows
        for other in np.flatnonzero(awaited[rank]).tolist():
            if other == start:
                way = [rank]
                while way[0] != start:
                    way.insert(0, before[way[0]])
                return way
            if usable[other] and other not in before:
                before[other] = rank
                ranks.append(other)
    return None


def _of_rows(rows: Sequence[Row] | None) -> Circle | None:
    return None if rows is None else [(row.rank, row.who, row.text) for row in rows]


def _deadlock(circle: Circle, rank: int) -> CollectiveMismatch:
    """The error as ``rank`` raises it: its own place first."""
    at = next(i for i, member in enumerate(circle) if member[0] == rank)
    turned = circle[at:] + circle[:at]
    text = f"rank {rank} is in {turned[0][2]} and waits for "
    for i, (r, who, place) in enumerate(turned[1:], 1):
        following = turned[(i + 1) % len(turned)]
        text += f"rank {r} ({who}), which waits for " if i == 1 else "which waits for "
        its = "" if following[0] == rank else f" ({following[1]})"
        text += f"rank {following[0]}{its} in {place}, "
    return CollectiveMismatch(
        f"{text.removesuffix(', ')}.\n  All ranks must call the same collectives, backwards and "
        "new_group in the same order."
    )


def _never() -> bool:
    return False
