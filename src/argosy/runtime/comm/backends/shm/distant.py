"""What ranks of other hosts wait for: the board's rows of a job on several hosts, in its store.

A rank that has waited for a while sets its row there, again and again, and follows the rows of
those it waits for. A row is taken back when the wait ends. As on the board, a circle is certain
once every member has looked again, in the same wait, after all the waits were seen.

A word may be on its way while its receiver waits for it and its sender already for something else.
So a row is set only while the other hosts' kernels have confirmed all that this rank has told them:
whoever looks after that finds it.
"""

from __future__ import annotations

import contextlib
import json
import platform
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ArgosyError

FIRST_S = 0.5  # until a wait is shown to other hosts, and then from look to look
_SLOWER = 1.5
_LONGEST_S = 5.0
_SURE_LOOKS = 2  # the first of them may have begun before the waits were seen


class Link(Protocol):
    """Connections through which this rank tells ranks of other hosts something."""

    @property
    def is_flushed(self) -> bool:
        """Whether all of it has arrived where they can read it."""


@dataclass(frozen=True)
class Row:
    """One wait as other hosts see it: ``looks`` of its rank so far, the ranks that it awaits."""

    rank: int
    number: int
    looks: int
    awaited: Sequence[int]
    text: str
    who: str


class Distant:
    """Rank ``rank``'s access to the rows; made on every rank before any rank reads one."""

    def __init__(self, store: Any, rank: int) -> None:
        self.rank = rank
        self._store = store
        self._links: weakref.WeakSet[Link] = weakref.WeakSet()
        self._is_lost = False
        store.set(_row_key(rank), "")

    def watch(self, link: Link) -> None:
        """Set no row while ``link`` has something on its way."""
        self._links.add(link)

    def is_flushed(self) -> bool:
        return all(link.is_flushed for link in list(self._links))

    def show(self, row: Row) -> None:
        with self._talking():
            self._store.set(_row_key(self.rank), json.dumps(asdict(row)))

    def hide(self) -> None:
        with self._talking():
            self._store.set(_row_key(self.rank), "")

    def rows(self, ranks: Iterable[int]) -> dict[int, Row]:
        """The waits of those among ``ranks`` that wait."""
        keys = [_row_key(rank) for rank in ranks]
        texts: Sequence[bytes] = ()
        with self._talking():
            if self._store.has_extended_api():
                texts = self._store.multi_get(keys)
            else:
                texts = [self._store.get(key) for key in keys]
        rows = [Row(**json.loads(text)) for text in texts if text]
        return {row.rank: row for row in rows}

    def circle(self, start: Row) -> list[Row] | None:
        """The shortest way from ``start`` along waits back to it, without the last step."""
        before: dict[int, Row] = {}  # by whom each rank is awaited
        frontier = [start]
        while frontier:
            if closing := next((row for row in frontier if start.rank in row.awaited), None):
                way = [closing]
                while way[0] is not start:
                    way.insert(0, before[way[0].rank])
                return way
            wanted = {rank: row for row in frontier for rank in row.awaited if rank not in before}
            before |= wanted
            frontier = list(self.rows(wanted).values()) if wanted else []
        return None

    def accuse(self, circle: Sequence[Row]) -> None:
        """Tell the members of ``circle`` that their waits cannot end."""
        text = json.dumps([asdict(row) for row in circle])
        with self._talking():
            for row in circle:
                self._store.set(_verdict_key(row.rank), text)

    def verdict(self, number: int) -> list[Row] | None:
        """The circle in which another rank has found this rank's wait ``number``."""
        with self._talking():
            if self._store.check([_verdict_key(self.rank)]):
                said = json.loads(self._store.get(_verdict_key(self.rank)))
                rows = [Row(**fields) for fields in said]
                if any((row.rank, row.number) == (self.rank, number) for row in rows):
                    return rows
        return None

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        """Do nothing about a store that has gone: whoever waits finds out by what it waits for."""
        try:
            yield
        except (ArgosyError, RuntimeError):
            self._is_lost = True

    @property
    def is_lost(self) -> bool:
        return self._is_lost


class DistantWait:
    """One wait of this rank, from the moment when the board shows it."""

    def __init__(self, distant: Distant, number: int, text: str, who: str) -> None:
        self._distant = distant
        self._number = number
        self._text = text
        self._who = f"{who} on {platform.node()}"
        self._looks = 0
        self._pause_s = FIRST_S
        self._next = Deadline.after(FIRST_S)
        self._is_shown = False
        self._seen: dict[tuple[int, int], int] = {}  # the looks of a circle's members by their wait

    def look(self, missing: Sequence[int]) -> list[Row] | None:
        """Show that ``missing`` are still awaited, if it is time; the circle if there is one for
        certain.
        """
        distant = self._distant
        if not self._next.expired or distant.is_lost or not distant.is_flushed():
            return None
        self._pause_s = min(self._pause_s * _SLOWER, _LONGEST_S)
        self._next = Deadline.after(self._pause_s)
        self._looks += 1
        row = Row(distant.rank, self._number, self._looks, list(missing), self._text, self._who)
        distant.show(row)
        self._is_shown = True
        return self.verdict() or self._certain(distant.circle(row))

    def _certain(self, circle: list[Row] | None) -> list[Row] | None:
        looks = {(row.rank, row.number): row.looks for row in circle or ()}
        if looks.keys() != self._seen.keys():
            self._seen = looks
            return None
        if circle is None or any(looks[w] < self._seen[w] + _SURE_LOOKS for w in looks):
            return None
        self._distant.accuse(circle)
        return circle

    def verdict(self) -> list[Row] | None:
        return self._distant.verdict(self._number) if self._is_shown else None

    def end(self) -> None:
        if self._is_shown and not self._distant.is_lost:
            self._distant.hide()


def _row_key(rank: int) -> str:
    return f"wait/{rank}"


def _verdict_key(rank: int) -> str:
    return f"deadlock/{rank}"
