"""A sparse table: rows of numbers by id, made on first use, changed by a rule, in memory that
outlives the process.

Rows lie in files (``memory.py``); the index from id to row is rebuilt when the table is opened. A
push is all or nothing and happens once (``journal.py``). All methods may be called from any thread.

Bytes per row: 4 for each value and each number of the rule's state, 8 for the id, 1 for "in use", 4
where ids are counted before they are admitted, 16 where shows and clicks are kept, 7 to 13 for
the index, and up to 20 while the index grows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import OutOfRange, TableError
from argosy.foundation.faultpoint import reach
from argosy.runtime.ps.tables import rows as loops
from argosy.runtime.ps.tables.days import turn_to
from argosy.runtime.ps.tables.hashing import draws_below
from argosy.runtime.ps.tables.index import Index
from argosy.runtime.ps.tables.initial import fill_rows
from argosy.runtime.ps.tables.journal import MAX_WORKERS, Journal
from argosy.runtime.ps.tables.memory import Column, agree
from argosy.runtime.ps.tables.recent import Recent
from argosy.runtime.ps.tables.snapshot import Snapshot, UnderWay
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec

Ids = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
_SHOWS, _CLICKS, _DELTA, _UNSEEN_DAYS = range(4)


class SparseTable:
    """``folder`` holds the table's files; an existing table is opened as it was left, even if its
    process was killed.
    """

    def __init__(self, spec: SparseSpec, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        agree(spec.name, spec.to_json(), folder / "spec.json")
        self.spec = spec
        most = spec.max_rows
        self._memory = Column(folder / "rows", np.float32, most, spec.row_width)
        self._ids = Column(folder / "ids", np.int64, most)
        self._used = Column(folder / "used", np.uint8, most)
        self._columns = [self._memory, self._ids, self._used]
        self._seen = (
            Column(folder / "seen", np.uint32, most) if spec.admission.kind == "count" else None
        )
        if self._seen is not None:
            self._columns.append(self._seen)
        # one more than the last row that may be in use
        self._end = Column(folder / "end", np.int64, 1)
        self._end.reserve(1)
        self._journal = Journal(folder, self._memory, most)
        self._filled = folder / "filled"
        self._under_way: UnderWay | None = None  # guarded by _lock
        self._lock = threading.Lock()
        self._is_closed = False  # guarded by _lock
        self._recent = Recent()  # guarded by _lock
        self._index = Index(self._ids.array)  # guarded by _lock, as is everything in the columns
        self.was_cut_off = self._open()

    def _open(self) -> bool:
        """Index what is there; whether a push had been cut off and was taken back."""
        was_cut_off = self._journal.recover()
        end = int(self._end.array[0])
        for column in self._columns:
            column.reserve(end)
        self._index.rebuild(self._used.array, end)
        return was_cut_off

    # -- training
    # ----------------------------------------------------------------------------------------------

    def pull(self, ids: Ids, creates: bool = True, out: Values | None = None) -> Values:
        """The values of each id, in ``out`` if it is given. An id without a row gets one first, or
        reads as zeros if ``creates`` is False or it is not admitted.
        """
        if out is None:
            out = np.empty((ids.shape[0], self.spec.dim), np.float32)
        with self._locked():
            rows = self._rows_of(ids, counts=creates) if creates else self._index.find(ids)
            if not creates:
                self._hide_unadmitted(rows)
            loops.gather(self._memory.array, rows, out)
        if self.spec.padding_id is not None:
            out[ids == self.spec.padding_id] = 0.0
        return out

    def push(
        self,
        ids: Ids,
        grads: Values,
        *,
        worker: int,
        sequence: int,
        learning_rate: float | None = None,
        shows: Values | None = None,
        clicks: Values | None = None,
    ) -> bool:
        """Apply gradients by the table's rule; those of one id are summed first. False if this push
        was applied before.

        ``sequence`` counts the pushes of a worker to this table from 1 on.
        """
        self.check_push(ids, grads, worker)
        shown = np.ones(ids.shape[0], np.float32) if shows is None else shows
        clicked = np.zeros(ids.shape[0], np.float32) if clicks is None else clicks
        with self._locked():
            if sequence <= self._journal.applied(worker):
                return False
            changed, total = self._rows_of(ids, counts=False), grads
            if not loops.are_different(changed):
                changed, total, shown, clicked = loops.merge(changed, grads, shown, clicked)
            if self._under_way is not None:
                self._under_way.keep(changed)
            with self._journal.changing(changed, worker, sequence):
                self.spec.rule.update(self._memory.array, changed, total, shown, learning_rate)
                self._count(changed, shown, clicked)
        return True

    def check_push(self, ids: Ids, grads: Values, worker: int) -> None:
        """Refuse what cannot be pushed."""
        if grads.shape != (ids.shape[0], self.spec.dim):
            raise TableError(
                f"push to table {self.spec.name!r}: gradients have shape {grads.shape} for "
                f"{ids.shape[0]} ids of dimension {self.spec.dim}"
            )
        if not 0 <= worker < MAX_WORKERS:
            raise OutOfRange(
                f"push to table {self.spec.name!r}: worker {worker} is not in [0, {MAX_WORKERS})"
            )

    def _rows_of(self, ids: Ids, counts: bool) -> npt.NDArray[np.int32]:
        """The row of each id, made where it is missing; -1 for padding and for ids that are not
        admitted.
        """
        admission = self.spec.admission
        wanted, at = ids, None
        if self._keeps_recent:
            return self._recent_rows_of(ids, is_pull=counts)
        if self.spec.padding_id is not None or admission.kind == "probability":
            allowed = (
                np.ones(ids.shape[0], bool)
                if self.spec.padding_id is None
                else ids != self.spec.padding_id
            )
            if admission.kind == "probability":
                allowed &= draws_below(ids, self.spec.initial.seed, admission.value)
            at = np.flatnonzero(allowed)
            wanted = ids[at]
        rows = self._find_or_make(wanted)
        if self._seen is not None:
            if counts:
                np.add.at(self._seen.array, rows, 1)
            self._hide_unadmitted(rows)
        if at is None:
            return rows
        spread = np.full(ids.shape[0], -1, np.int32)
        spread[at] = rows
        return spread

    @property
    def _keeps_recent(self) -> bool:
        """Whether an id that has a row always reads it."""
        return self.spec.padding_id is None and self.spec.admission.kind == "always"

    def _recent_rows_of(self, ids: Ids, is_pull: bool) -> npt.NDArray[np.int32]:
        if is_pull:
            rows = self._find_or_make(ids)
            self._recent.keep(ids, rows)
            return rows
        known = self._recent.take(ids)
        return self._find_or_make(ids) if known is None else known

    def _hide_unadmitted(self, rows: npt.NDArray[np.int32]) -> None:
        if self._seen is not None:
            # those of -1 are -1 already
            rows[self._seen.array[rows] < self.spec.admission.value] = -1

    def _find_or_make(self, ids: Ids) -> npt.NDArray[np.int32]:
        room = self._index.end + ids.shape[0]
        if room > self.spec.max_rows:
            raise TableError(
                f"table {self.spec.name!r} may have {self.spec.max_rows} rows, "
                f"{len(self._index)} are in use and {ids.shape[0]} more were asked for; "
                "give it a larger max_rows, or shrink it"
            )
        for column in self._columns:
            column.reserve(room)
        rows, fresh = self._index.find_or_add(ids)
        if fresh.shape[0]:
            if self._under_way is not None:
                self._under_way.keep(fresh)
            initial = self.spec.initial
            fill_rows(
                self._memory.array, fresh, self._ids.array, self.spec.dim, self.spec.trained_width,
                initial.code, initial.a, initial.b, initial.seed, initial.zero_first,
                self.spec.rule.initial_state,
            )  # fmt: skip
            if self._seen is not None:
                self._seen.array[fresh] = 0
            self._end.array[0] = self._index.end
            reach("ps.rows.made")
            self._used.array[fresh] = 1  # last: a row that is in use is complete
        return rows

    def _count(self, rows: npt.NDArray[np.int32], shown: Values, clicked: Values) -> None:
        rules = self.spec.show_click
        if rules is not None:
            counts = self._counts()
            counts[rows, _SHOWS] += shown
            counts[rows, _CLICKS] += clicked
            counts[rows, _DELTA] += rules.score(shown, clicked)
            counts[rows, _UNSEEN_DAYS] = 0.0

    def _counts(self) -> Values:
        """Shows, clicks, score since the last base and unseen days of every row."""
        return self._memory.array[: self._index.end, self.spec.trained_width :]

    # -- care
    # ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._index)

    @property
    def num_bytes(self) -> int:
        """Bytes in use: columns up to the last row, and the index. The journal, as long as the
        largest push, is not counted.
        """
        per_row = sum(
            c.array.itemsize * (c.array.shape[1] if c.array.ndim == 2 else 1) for c in self._columns
        )
        with self._locked():
            return per_row * self._index.end + self._index.num_bytes

    def has(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Whether each id has a row."""
        with self._locked():
            return self._index.find(ids) >= 0

    def is_admitted(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Whether each id has a row that is read and trained."""
        with self._locked():
            rows = self._index.find(ids)
            self._hide_unadmitted(rows)
            return rows >= 0

    def applied(self, worker: int) -> int:
        """The number of the last push of ``worker`` that was applied."""
        return self._journal.applied(worker)

    def forget_pushes(self) -> None:
        """Count the pushes of all workers from 0 again."""
        with self._locked():
            self._journal.forget_pushes()

    def snapshot(self, resets_delta: bool = False) -> Generator[Snapshot, None, None]:
        """The table as it is when the first chunk is asked for, a chunk at a time; pulls and pushes
        go on meanwhile.

        With ``resets_delta`` the scores since the last base begin anew with this one. TableError if
        another snapshot is being taken. Close the iterator or read it to the end.
        """
        with self._locked():
            if self._under_way is not None:
                raise TableError(f"a snapshot of table {self.spec.name!r} is being taken already")
            end = self._index.end
            under_way = UnderWay(self._memory.array, self._ids.array[:end], self._used.array[:end])
            self._under_way = under_way
        try:
            for start in under_way.starts():
                with self._locked():
                    chunk = under_way.chunk(start)
                    if resets_delta and self.spec.show_click is not None:
                        self._take_off_delta(chunk)
                yield chunk
        finally:
            with self._lock:
                self._under_way = None

    def _take_off_delta(self, chunk: Snapshot) -> None:
        """Subtract what the chunk says: what came since the snapshot began stays."""
        rows = self._index.find(chunk.ids)
        is_here = rows >= 0
        self._counts()[rows[is_here], _DELTA] -= chunk.rows[
            is_here, self.spec.trained_width + _DELTA
        ]

    def load(self, snapshot: Snapshot) -> None:
        """Put rows in place of those with the same ids, or add them."""
        with self._locked():
            rows = self._find_or_make(snapshot.ids)
            if self._under_way is not None:
                self._under_way.keep(rows)
            loops.copy_in(self._memory.array, rows, snapshot.rows)
            if self._seen is not None:
                self._seen.array[rows] = np.uint32(self.spec.admission.value)

    def make(self, ids: Ids) -> None:
        """Give ids a row without counting that as a pull."""
        with self._locked():
            self._rows_of(ids, counts=False)

    def set_values(self, ids: Ids, values: Values) -> None:
        """Replace the values of rows that are there; the rule's state stays. ``ids`` must all be
        different.
        """
        with self._locked():
            rows = self._index.find(ids)
            is_here = rows >= 0
            if self._under_way is not None:
                self._under_way.keep(rows[is_here])
            self._memory.array[rows[is_here], : self.spec.dim] = values[is_here]

    @property
    def is_filled(self) -> bool:
        """Whether somebody gave the table its first rows."""
        return self._filled.exists()

    def mark_filled(self) -> None:
        self._filled.touch()

    def end_day(self, day: int | None = None) -> None:
        """A day has begun, the next or the given one, if it is not past: rows were not seen for so
        many days more, and shows and clicks fade.
        """
        with self._locked():
            rules = self._show_click("end a day of")
            counts = self._counts()

            def fade(rows: npt.NDArray[np.int32], days: int) -> None:
                if self._under_way is not None:
                    self._under_way.keep(rows)
                chosen = slice(rows[0], rows[-1] + 1)
                counts[chosen, _UNSEEN_DAYS] += days
                counts[chosen, _SHOWS : _CLICKS + 1] *= rules.decay**days

            turn_to(self._journal, day, self._index.end, fade)

    def shrink(self) -> int:
        """Drop rows that are worth too little or were not seen for too long; returns how many."""
        with self._locked():
            rules = self._show_click("shrink")
            counts, end = self._counts(), self._index.end
            worth = rules.score(counts[:, _SHOWS], counts[:, _CLICKS])
            is_old = counts[:, _UNSEEN_DAYS] > rules.delete_after_unseen_days
            used = self._used.array[:end].astype(bool)
            dropped = np.flatnonzero(used & ((worth < rules.delete_below) | is_old))
            self._used.array[dropped] = 0
            self._index.rebuild(self._used.array, end)
            self._recent.forget()
            return int(dropped.shape[0])

    def _show_click(self, call: str) -> ShowClick:
        if self.spec.show_click is None:
            raise TableError(
                f"cannot {call} table {self.spec.name!r}: it keeps no shows and clicks"
            )
        return self.spec.show_click

    def close(self) -> None:
        """Let go of the files, which stay."""
        with self._lock:
            self._is_closed = True
            self._index = Index(np.empty(0, np.int64))
            self._journal.close()
            for column in (self._end, *self._columns):
                column.close()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of a table that is open: compiled loops would write past the end of a
        closed one.
        """
        with self._lock:
            if self._is_closed:
                raise TableError(f"table {self.spec.name!r} is closed")
            yield

    def __enter__(self) -> SparseTable:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
