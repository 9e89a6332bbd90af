"""The index of a table: from an id to the number of its row.

Open addressing with one byte of each id's hash beside the row number: five bytes per entry, and an
id is read from its row only where the byte agrees. It grows by moving a few thousand entries into a
table of twice the size with every call, so that no call waits for all of them; that table's memory
is made ready in the same way, before it is needed. The index lives in ordinary memory and is
rebuilt from the rows when a server starts.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

import mmap
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from argosy.runtime.ps.tables.hashing import mix
from argosy.runtime.ps.tables.prefetch import AHEAD, prefetch

_FULL = 0.8
_READY_FROM = 0.6  # how full an index is when the memory of the next one begins to be made ready
_SMALLEST = 1 << 12
_MOVED_AT_ONCE = 1 << 15

_HUGE = 2 << 20

_MISSING = -1


@numba.njit(nogil=True, cache=True, inline="always")
def _tag(hashed: Any) -> Any:
    """Never 0, which marks a free place; bits that neither the shard nor the place use."""
    return np.uint8((hashed >> np.uint64(40)) & np.uint64(0xFF)) | np.uint8(1)


@numba.njit(nogil=True, cache=True)
def _find(tags: Any, rows: Any, ids: Any, wanted: Any, hashed: Any) -> int:
    """The row of ``wanted``, or -1."""
    mask = tags.shape[0] - 1
    tag = _tag(hashed)
    at = np.int64(hashed & np.uint64(mask))
    while tags[at] != 0:
        if tags[at] == tag and ids[rows[at]] == wanted:
            return rows[at]
        at = (at + 1) & mask
    return _MISSING


@numba.njit(nogil=True, cache=True)
def _place(tags: Any, rows: Any, hashed: Any, row: int) -> None:
    mask = tags.shape[0] - 1
    at = np.int64(hashed & np.uint64(mask))
    while tags[at] != 0:
        at = (at + 1) & mask
    tags[at] = _tag(hashed)
    rows[at] = row


@numba.njit(nogil=True, cache=True)
def _look_up(
    tags: Any, rows: Any, old_tags: Any, old_rows: Any, ids: Any, wanted: Any, out: Any
) -> int:
    """Fill ``out`` with the rows of ``wanted``; returns how many are missing."""
    missing, count = 0, wanted.shape[0]
    mask = np.uint64(tags.shape[0] - 1)
    for i in range(count):
        # in two distances: where the id is, and, once that is here, the row that holds the id
        # itself
        if i + 2 * AHEAD < count:
            at = np.int64(mix(wanted[i + 2 * AHEAD]) & mask)
            prefetch(tags.ctypes.data + at)
            prefetch(rows.ctypes.data + 4 * at)
        if i + AHEAD < count:
            at = np.int64(mix(wanted[i + AHEAD]) & mask)
            if tags[at] != 0:
                prefetch(ids.ctypes.data + 8 * np.int64(rows[at]))
        hashed = mix(wanted[i])
        row = _find(tags, rows, ids, wanted[i], hashed)
        if row == _MISSING and old_tags.shape[0] > 1:
            row = _find(old_tags, old_rows, ids, wanted[i], hashed)
        out[i] = row
        missing += row == _MISSING
    return missing


@numba.njit(nogil=True, cache=True)
def _add_missing(
    tags: Any,
    rows: Any,
    ids: Any,
    wanted: Any,
    out: Any,
    free: Any,
    num_free: int,
    end: int,
    added: Any,
) -> int:
    """Give each id of ``wanted`` whose ``out`` is -1 a row: the last free ones first, then from
    ``end`` on. Returns how many are new.

    An id that occurs twice is new once.
    """
    count = 0
    for i in range(wanted.shape[0]):
        if out[i] != _MISSING:
            continue
        hashed = mix(wanted[i])
        row = _find(tags, rows, ids, wanted[i], hashed)
        if row == _MISSING:
            if count < num_free:
                row = free[num_free - 1 - count]
            else:
                row = end + count - num_free
            ids[row] = wanted[i]
            _place(tags, rows, hashed, row)
            added[count] = row
            count += 1
        out[i] = row
    return count


@numba.njit(nogil=True, cache=True)
def _move(
    tags: Any, rows: Any, old_tags: Any, old_rows: Any, ids: Any, start: int, stop: int
) -> None:
    for at in range(start, stop):
        if old_tags[at] != 0:
            _place(tags, rows, mix(ids[old_rows[at]]), old_rows[at])


@numba.njit(nogil=True, cache=True)
def _fill(tags: Any, rows: Any, ids: Any, is_used: Any, end: int) -> None:
    for row in range(end):
        if is_used[row]:
            _place(tags, rows, mix(ids[row]), row)


class Index:
    """Rows by id. ``ids`` is the column of the table that holds the id of each row; the index
    writes it for rows that it hands out.
    """

    def __init__(self, ids: npt.NDArray[np.int64]) -> None:
        self._ids = ids
        self._count = 0
        self._tags, self._rows = _arrays(_SMALLEST)
        self._old_tags, self._old_rows = _arrays(1)
        self._moved = 0
        self._next: _Next | None = None
        self._free = np.empty(0, np.int32)
        self._end = 0  # rows from here on were never used

    def __len__(self) -> int:
        return self._count

    @property
    def end(self) -> int:
        """One more than the highest row in use, or once in use."""
        return self._end

    @property
    def num_bytes(self) -> int:
        parts = (self._tags, self._rows, self._old_tags, self._old_rows, self._free)
        return sum(part.nbytes for part in parts) + (
            self._next.num_bytes if self._next is not None else 0
        )

    def find(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The row of each id, -1 where there is none."""
        out = np.empty(wanted.shape[0], np.int32)
        self._find_into(wanted, out)
        return out

    def _find_into(self, wanted: npt.NDArray[np.int64], out: npt.NDArray[np.int32]) -> int:
        if self._old_tags.shape[0] > 1:
            self._move(_MOVED_AT_ONCE)
        return int(
            _look_up(self._tags, self._rows, self._old_tags, self._old_rows, self._ids, wanted, out)
        )

    def find_or_add(
        self, wanted: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The row of each id, and the rows that are new. The columns must have room for ``end``
        plus as many rows as ids.
        """
        out = np.empty(wanted.shape[0], np.int32)
        missing = self._find_into(wanted, out)
        if missing == 0:
            return out, _NONE
        self._make_room(missing)
        added = np.empty(missing, np.int32)
        num_free = self._free.shape[0]
        count = int(
            _add_missing(
                self._tags,
                self._rows,
                self._ids,
                wanted,
                out,
                self._free,
                num_free,
                self._end,
                added,
            )
        )
        from_free = min(count, num_free)
        self._free = self._free[: num_free - from_free]
        self._end += count - from_free
        self._count += count
        return out, added[:count]

    def _make_room(self, extra: int) -> None:
        size = self._tags.shape[0]
        if self._count + extra > size * _FULL:
            self._finish_moving()
            while self._count + extra > size * _FULL:
                size *= 2
            self._old_tags, self._old_rows = self._tags, self._rows
            self._tags, self._rows = self._take_next(size)
            self._moved = 0
        if self._old_tags.shape[0] > 1:
            self._move(4 * extra)  # enough to have all old entries here before new ones fill it up
        elif self._count + extra > size * _READY_FROM:
            if self._next is None:
                self._next = _Next(2 * size)
            # as far as this call goes of the way to the end, and a bit more
            self._next.make_ready(1.25 * extra / (size * (_FULL - _READY_FROM)))

    def _take_next(self, size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        found, self._next = self._next, None
        return found.arrays if found is not None and found.size == size else _arrays(size)

    def _move(self, count: int) -> None:
        stop = min(self._moved + count, self._old_tags.shape[0])
        _move(self._tags, self._rows, self._old_tags, self._old_rows, self._ids, self._moved, stop)
        self._moved = stop
        if stop == self._old_tags.shape[0]:
            self._old_tags, self._old_rows = _arrays(1)

    def _finish_moving(self) -> None:
        if self._old_tags.shape[0] > 1:
            self._move(self._old_tags.shape[0])

    def rebuild(self, is_used: npt.NDArray[np.uint8], end: int) -> None:
        """Forget everything and index the rows below ``end`` that are in use; the others become
        free.
        """
        used = is_used[:end].astype(bool)
        self._count, self._end = int(used.sum()), end
        self._free = np.flatnonzero(~used).astype(np.int32)
        size = _SMALLEST
        while self._count > size * _FULL:
            size *= 2
        self._tags, self._rows = _arrays(size)
        self._old_tags, self._old_rows = _arrays(1)
        self._next = None
        _fill(self._tags, self._rows, self._ids, is_used, end)


class _Next:
    """The memory of the table that comes after this one. The kernel zeroes memory when it is first
    touched, which takes long for all of it at once.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.arrays = _arrays(size)
        self._ready = 0.0

    def make_ready(self, part: float) -> None:
        """Touch the given part of the memory, after what was touched already."""
        stop = min(self._ready + part, 1.0)
        for array in self.arrays:
            page = mmap.PAGESIZE // array.itemsize
            array[int(self._ready * self.size) : int(stop * self.size) : page] = 0
        self._ready = stop

    @property
    def num_bytes(self) -> int:
        """Bytes that are ready."""
        return int(self._ready * sum(array.nbytes for array in self.arrays))


_NONE = np.empty(0, np.int32)


def _arrays(size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    # of ``rows`` only places with a tag are read, so what they begin with does not matter
    return _zeros(size, np.uint8), _zeros(size, np.int32)


def _zeros(size: int, dtype: Any) -> npt.NDArray[Any]:
    """Memory that is zeroed when it is first touched, in huge pages if there is much of it: every
    look at an index goes to another page.
    """
    num_bytes = size * np.dtype(dtype).itemsize
    if num_bytes < _HUGE:
        return np.zeros(size, dtype)
    memory = mmap.mmap(-1, num_bytes)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype)
