"""The compiled loops of data parallelism: bring many gradients into a bucket; sort the rows of
sparse gradients by id and add up those of one id.
"""

# mypy: disable-error-code="untyped-decorator,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from argosy.runtime.comm.backends.shm.kernels import elements_at
from argosy.runtime.comm.backends.shm.streaming import LINE, prefetch, stream_copy

_BITS = 11  # of an id that a pass of the sort looks at: 2048 counters stay in the first-level cache

_AHEAD = 8  # rows that are on their way while one is added


@numba.njit(nogil=True, cache=True)
def sort_by_id(ids: Any, addresses: Any, spare_ids: Any, spare_addresses: Any, most: int) -> int:
    """Sort ``ids``, none above ``most``, and ``addresses`` along with them, equal ids in the order
    in which they stand; return how many are different. The spare arrays have the same length.

    A radix sort: 13,000 ids below 200,000 take two passes, a sixth of the time of numpy's argsort.
    """
    mask = (1 << _BITS) - 1
    places = np.empty(mask + 2, np.int64)
    shift = 0
    num_passes = 0
    while shift == 0 or (most >> shift) > 0:
        places[:] = 0
        for i in range(ids.shape[0]):
            places[((ids[i] >> shift) & mask) + 1] += 1
        for digit in range(mask + 1):
            places[digit + 1] += places[digit]
        for i in range(ids.shape[0]):
            digit = (ids[i] >> shift) & mask
            at = places[digit]
            places[digit] = at + 1
            spare_ids[at] = ids[i]
            spare_addresses[at] = addresses[i]
        ids, spare_ids = spare_ids, ids
        addresses, spare_addresses = spare_addresses, addresses
        shift += _BITS
        num_passes += 1
    if num_passes & 1:  # the result is in what were the spare arrays
        spare_ids[:] = ids
        spare_addresses[:] = addresses
    count = 0
    for i in range(ids.shape[0]):
        if i == 0 or ids[i] != ids[i - 1]:
            count += 1
    return count


@numba.njit(nogil=True, cache=True)
def add_by_id(
    ids: Any, addresses: Any, scale: float, out_ids: Any, out_rows: Any, streams: bool
) -> None:
    """Write each id of the sorted ``ids`` once, and the sum of its rows times ``scale``, past the
    cache if ``streams``. The row of ``ids[i]`` lies at ``addresses[i]`` and has the type and width
    of ``out_rows``.
    """
    factor = out_rows.dtype.type(scale)
    width = out_rows.shape[1]
    step = width * out_rows.itemsize
    total = np.empty(width, out_rows.dtype)
    at = 0
    for i in range(ids.shape[0]):
        if i + _AHEAD < ids.shape[0]:
            for offset in range(0, step, LINE):
                prefetch(addresses[i + _AHEAD] + offset)
        row = elements_at(addresses[i], width, out_rows)
        is_first = i == 0 or ids[i] != ids[i - 1]
        is_last = i + 1 == ids.shape[0] or ids[i + 1] != ids[i]
        source = addresses[i]  # most ids occur once
        if not (is_first and is_last and streams and factor == 1):
            source = total.ctypes.data
            if is_first:
                for k in range(width):
                    total[k] = row[k] * factor
            else:
                for k in range(width):
                    total[k] += row[k] * factor
        if not is_last:
            continue
        out_ids[at] = ids[i]
        if streams:
            stream_copy(out_rows.ctypes.data + at * step, source, step)
        else:
            target = out_rows[at]
            for k in range(width):
                target[k] = total[k]
        at += 1


@numba.njit(nogil=True, cache=True)
def merge_by_id(
    ids: Any, bounds: Any, addresses: Any, scale: float, out_ids: Any, out_rows: Any
) -> int:
    """As ``add_by_id``, of parts that are sorted, each id once in a part: part p is
    ``ids[bounds[p] : bounds[p + 1]]``, and its rows lie one behind the other from ``addresses[p]``
    on. Sums are in the order of the parts. Returns how many ids were written.
    """
    factor = out_rows.dtype.type(scale)
    width = out_rows.shape[1]
    step = width * out_rows.itemsize
    num_parts = addresses.shape[0]
    cursors = bounds[:-1].copy()
    count = 0
    while True:
        least = np.iinfo(np.int64).max
        for p in range(num_parts):
            if cursors[p] < bounds[p + 1]:
                least = min(least, ids[cursors[p]])
        if least == np.iinfo(np.int64).max:
            return count
        out_ids[count] = least
        target = out_rows[count]
        is_first = True
        for p in range(num_parts):
            at = cursors[p]
            if at == bounds[p + 1] or ids[at] != least:
                continue
            row = elements_at(addresses[p] + (at - bounds[p]) * step, width, out_rows)
            if is_first:
                for k in range(width):
                    target[k] = row[k] * factor
            else:
                for k in range(width):
                    target[k] += row[k] * factor
            is_first = False
            cursors[p] = at + 1
        count += 1


@numba.njit(nogil=True, cache=True)
def merge_two(
    ids: Any, num_first: int, addresses: Any, scale: float, out_ids: Any, out_rows: Any,
    firsts: Any, seconds: Any,
) -> int:  # fmt: skip
    """``merge_by_id`` of two parts, the first of which has ``num_first`` ids. ``firsts`` and
    ``seconds`` have room for an address of each id.

    First it is found which rows belong together, without a branch that depends on the ids, which no
    processor can foresee; then they are added. That takes half the time.
    """
    factor = out_rows.dtype.type(scale)
    width = out_rows.shape[1]
    step = width * out_rows.itemsize
    i, j, count = 0, num_first, 0
    at, other_at = addresses[0], addresses[1]  # of the rows of ids[i] and ids[j]
    while i < num_first and j < ids.shape[0]:
        one, other = ids[i], ids[j]
        takes_one, takes_other = int(one <= other), int(other <= one)
        out_ids[count] = min(one, other)
        firsts[count] = at if takes_one else other_at
        seconds[count] = other_at * (takes_one & takes_other)
        i += takes_one
        j += takes_other
        at += step * takes_one
        other_at += step * takes_other
        count += 1
    for k in range(i, num_first):
        out_ids[count], firsts[count], seconds[count] = ids[k], at + (k - i) * step, 0
        count += 1
    for k in range(j, ids.shape[0]):
        out_ids[count], firsts[count], seconds[count] = ids[k], other_at + (k - j) * step, 0
        count += 1
    for n in range(count):
        row, target = elements_at(firsts[n], width, out_rows), out_rows[n]
        for k in range(width):
            target[k] = row[k] * factor
        if seconds[n]:
            row = elements_at(seconds[n], width, out_rows)
            for k in range(width):
                target[k] += row[k] * factor
    return count


@numba.njit(nogil=True, cache=True)
def copy_all(targets: Any, sources: Any, num_bytes: Any, like: Any) -> None:
    """Copy ``num_bytes[i]`` bytes from ``sources[i]`` to ``targets[i]``, both addresses, for each i
    where they differ. ``like`` is any array of bytes.
    """
    for i in range(targets.shape[0]):
        if targets[i] == sources[i]:
            continue
        target = elements_at(targets[i], num_bytes[i], like)
        source = elements_at(sources[i], num_bytes[i], like)
        for k in range(num_bytes[i]):
            target[k] = source[k]
