"""The compiled loops over rows of sparse gradients: sort them by id, add up those of one id."""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba
import numpy as np

_BITS = 11  # of an id that a pass of the sort looks at: 2048 counters stay in the first-level cache


@numba.njit(nogil=True, cache=True)
def sort_by_id(ids: Any, starts: Any, spare_ids: Any, spare_starts: Any, most: int) -> int:
    """Sort ``ids``, none above ``most``, and ``starts`` along with them, equal ids in the order in
    which they stand; return how many are different. The spare arrays have the same length.

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
            spare_starts[at] = starts[i]
        ids, spare_ids = spare_ids, ids
        starts, spare_starts = spare_starts, starts
        shift += _BITS
        num_passes += 1
    if num_passes & 1:  # the result is in what were the spare arrays
        spare_ids[:] = ids
        spare_starts[:] = starts
    count = 0
    for i in range(ids.shape[0]):
        if i == 0 or ids[i] != ids[i - 1]:
            count += 1
    return count


@numba.njit(nogil=True, cache=True)
def add_by_id(
    ids: Any, starts: Any, memory: Any, scale: float, out_ids: Any, out_rows: Any
) -> None:
    """Write each id of the sorted ``ids`` once, and the sum of its rows times ``scale``. The row of
    ``ids[i]`` begins at element ``starts[i]`` of ``memory``.
    """
    factor = memory.dtype.type(scale)
    width = out_rows.shape[1]
    at = -1
    for i in range(ids.shape[0]):
        row = memory[starts[i] : starts[i] + width]
        if i == 0 or ids[i] != ids[i - 1]:
            at += 1
            out_ids[at] = ids[i]
            target = out_rows[at]
            for k in range(width):
                target[k] = row[k] * factor
        else:
            target = out_rows[at]
            for k in range(width):
                target[k] += row[k] * factor
