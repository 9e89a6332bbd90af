"""Compiled loops over rows: reading them, merging what was pushed for one row, keeping and
restoring them.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from argosy.runtime.ps.tables.hashing import mix
from argosy.runtime.ps.tables.prefetch import AHEAD, prefetch

_LINE = 64


@numba.njit(nogil=True, cache=True, inline="always")
def ask_for(memory: Any, rows: Any, i: int, num_bytes: int) -> None:
    """Ask for the first ``num_bytes`` of the row that the loop reaches ``AHEAD`` turns from now."""
    if i + AHEAD < rows.shape[0] and rows[i + AHEAD] >= 0:
        start = memory.ctypes.data + np.int64(rows[i + AHEAD]) * memory.strides[0]
        for offset in range(0, num_bytes, _LINE):
            prefetch(start + offset)


@numba.njit(nogil=True, cache=True)
def gather(memory: Any, rows: Any, out: Any) -> None:
    """``out[i]`` = the first values of row ``rows[i]``; zeros for -1."""
    dim = out.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * dim)
        if rows[i] < 0:
            out[i, :] = 0.0
        else:
            row = memory[rows[i]]
            for c in range(dim):
                out[i, c] = row[c]


@numba.njit(nogil=True, cache=True)
def scatter(out: Any, places: Any, values: Any) -> None:
    """``out[places[i]]`` = ``values[i]``."""
    for i in range(places.shape[0]):
        row = out[places[i]]
        for c in range(out.shape[1]):
            row[c] = values[i, c]


@numba.njit(nogil=True, cache=True)
def are_different(rows: Any) -> Any:
    """Whether no row occurs twice and none is -1: then there is nothing to merge."""
    size = 16
    while size < 2 * rows.shape[0]:
        size *= 2
    places = np.full(size, -1, np.int32)
    for i in range(rows.shape[0]):
        if rows[i] < 0:
            return False
        at = np.int64(mix(rows[i]) & np.uint64(size - 1))
        while places[at] >= 0:
            if places[at] == rows[i]:
                return False
            at = (at + 1) & (size - 1)
        places[at] = rows[i]
    return True


@numba.njit(nogil=True, cache=True)
def merge(rows: Any, grads: Any, shows: Any, clicks: Any) -> Any:
    """Sum gradients, shows and clicks of equal rows; rows of -1 are left out. Returns the different
    rows in order of appearance and their sums.
    """
    n, dim = grads.shape
    size = 16
    while size < 2 * n:
        size *= 2
    places = np.full(size, -1, np.int32)
    kept = np.empty(n, np.int32)
    total = np.empty((n, dim), np.float32)
    seen = np.empty(n, np.float32)
    hits = np.empty(n, np.float32)
    count = 0
    for i in range(n):
        if rows[i] < 0:
            continue
        at = np.int64(mix(rows[i]) & np.uint64(size - 1))
        while places[at] >= 0 and kept[places[at]] != rows[i]:
            at = (at + 1) & (size - 1)
        k = places[at]
        if k < 0:
            k = count
            places[at] = k
            kept[k] = rows[i]
            seen[k] = shows[i]
            hits[k] = clicks[i]
            for c in range(dim):
                total[k, c] = grads[i, c]
            count += 1
        else:
            seen[k] += shows[i]
            hits[k] += clicks[i]
            for c in range(dim):
                total[k, c] += grads[i, c]
    return kept[:count], total[:count], seen[:count], hits[:count]


@numba.njit(nogil=True, cache=True)
def add_at(total: Any, places: Any, values: Any, stride: int) -> None:
    """``total[places[i]] += `` row ``i``, for each ``i`` in order; the rows begin every ``stride``
    numbers of the flat ``values``, which may be far apart.
    """
    count, dim = places.shape[0], total.shape[1]
    for i in range(count):
        ask_for(total, places, i, 4 * dim)
        if i + AHEAD < count:
            start = values.ctypes.data + 4 * (i + AHEAD) * stride
            for offset in range(0, 4 * dim, _LINE):
                prefetch(start + offset)
            prefetch(start + 4 * dim - 4)
        # two slices, so that the loop over them becomes one of vectors: ten times faster
        row, part = total[places[i]], values[i * stride : i * stride + dim]
        for c in range(dim):
            row[c] += part[c]


# Loops over rows that lie beside each other: 106,496 rows of sixteen take 0.5 ms each way. Indices
# are unsigned, because a test for negative ones keeps the compiler from computing with vectors.
_LINES_AHEAD = 2


@numba.njit(nogil=True, cache=True, inline="always")
def _ask_for_line(rows: Any, places: Any, i: int, s: int) -> None:
    if i + _LINES_AHEAD < places.shape[1]:
        prefetch(rows.ctypes.data + np.int64(places[s, i + _LINES_AHEAD]) * rows.strides[0])


@numba.njit(nogil=True, cache=True)
def gather_beside(rows: Any, places: Any, out: Any, start: int) -> None:
    """Line ``i`` of ``out``, from column ``start`` on = the rows ``places[0, i]``, ``places[1, i]``
    and so on, side by side.
    """
    width, count, dim = places.shape[0], places.shape[1], rows.shape[1]
    for i in range(count):
        line = out[np.uint64(i)]
        for s in range(width):
            _ask_for_line(rows, places, i, s)
            row, at = rows[np.uint64(places[s, i])], start + s * dim
            for c in range(dim):
                line[np.uint64(at + c)] = row[c]


@numba.njit(nogil=True, cache=True)
def add_beside(total: Any, places: Any, values: Any, start: int) -> None:
    """The way back: what lies side by side in the lines of ``values`` is added to the rows at
    ``places``, line after line.
    """
    width, count, dim = places.shape[0], places.shape[1], total.shape[1]
    for i in range(count):
        line = values[np.uint64(i)]
        for s in range(width):
            _ask_for_line(total, places, i, s)
            row, at = total[np.uint64(places[s, i])], start + s * dim
            for c in range(dim):
                row[c] += line[np.uint64(at + c)]


@numba.njit(nogil=True, cache=True)
def copy_out(memory: Any, rows: Any, target: Any) -> None:
    """Keep whole rows, state and all."""
    width = memory.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * width)
        row, kept = memory[rows[i]], target[i]
        for c in range(width):
            kept[c] = row[c]


@numba.njit(nogil=True, cache=True)
def copy_in(memory: Any, rows: Any, source: Any) -> None:
    """Put back what ``copy_out`` kept."""
    for i in range(rows.shape[0]):
        for c in range(memory.shape[1]):
            memory[rows[i], c] = source[i, c]
