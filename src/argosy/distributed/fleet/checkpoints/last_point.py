"""After which step the members of a job stop together, when one of them has been asked to.

Nobody waits for the others, who may wait for this one in a collective. Each says how far it goes
for sure and goes on, a step at a time, until all have said so; the first to see that settles the
furthest point that was said. Whoever has begun a step had said so before, and did not yet see that
all had spoken; so the one who settles has read it, and nobody is beyond the point that counts.

As long as nobody is asked this costs a reading of the clock in each step, and a few questions in a
second.
"""

from __future__ import annotations

import time
from typing import Any

_LOOK_S = 0.25

__all__ = ["Board", "LastPoint", "StoreBoard"]


class Board:
    """Where members say how far they go; this one is for a process by itself."""

    def is_asked(self) -> bool:
        """Whether any member has been asked to stop."""
        return False

    def ask(self) -> None:
        """Tell the others that this one has been."""

    def say(self, point: int) -> list[int] | None:
        """This member goes on to ``point`` at least; what all have said, None while one has
        not.
        """
        return [point]

    def settle(self, point: int) -> int:
        """Where all stop; who comes first decides."""
        return point


class StoreBoard(Board):
    """Ranks that have a store in common; ``loop`` is the number of the loop in the job."""

    def __init__(self, store: Any, rank: int, world_size: int, loop: int) -> None:
        self._store = store
        self._mine, self._end = (f"preemption/{loop}/{name}" for name in (rank, "end"))
        self._all = [f"preemption/{loop}/{r}" for r in range(world_size)]

    def is_asked(self) -> bool:
        return bool(self._store.check(["preemption"]))

    def ask(self) -> None:
        self._store.set("preemption", b"1")

    def say(self, point: int) -> list[int] | None:
        self._store.set(self._mine, str(point))
        if not self._store.check(self._all):
            return None
        return [int(self._store.get(key)) for key in self._all]

    def settle(self, point: int) -> int:
        return int(self._store.compare_set(self._end, "", str(point)))


class LastPoint:
    """Finds the point at which this member stops. Points are numbers that grow by 1; all members
    come to the same ones.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._furthest = -1  # what this member has said
        self._end: int | None = None
        self._next_look_s = 0.0
        self.is_asked = False  # somebody in the job has been

    def is_here(self, point: int, is_asked: bool) -> bool:
        """Whether to stop at ``point``; ``is_asked``: this process has been asked to."""
        if not self._is_under_way(is_asked):
            return False
        if self._end is None:
            said = self._say(point) or self._say(point + 1)
            if said is not None:
                self._end = self._board.settle(max(said))
        return self._end is not None and point >= self._end

    def look(self) -> bool:
        """Ask now whether somebody in the job has been asked."""
        self.is_asked = self.is_asked or self._board.is_asked()
        return self.is_asked

    def _say(self, point: int) -> list[int] | None:
        self._furthest = max(point, self._furthest)
        return self._board.say(self._furthest)

    def _is_under_way(self, is_asked: bool) -> bool:
        if self.is_asked:
            return True
        if is_asked:
            self._board.ask()
            self.is_asked = True
        elif time.monotonic() >= self._next_look_s:
            self.is_asked = self._board.is_asked()
            self._next_look_s = time.monotonic() + _LOOK_S
        return self.is_asked
