"""The compiled loops of the shared-memory backend: arriving at a step, combining buffers in rank
order.

Reductions add rank 0 first, then 1, and so on, whatever the timing: the result is the same on every
rank and in every run.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]

from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.streaming import LINE, stream_copy, sum_lines
from argosy.runtime.comm.backends.shm.sync import (
    MOVES_FIRST,
    MOVES_WHEN_WOKEN,
    STAYS,
    load,
    note_time,
    pointer_at,
    publish,
    store,
    wait_for,
)

_STRIDE = layout.CONTROL_BYTES
_ARRIVED = layout.ARRIVED
_SLEEPERS = layout.SLEEPERS
_DEPARTED = layout.DEPARTED
_FINGERPRINT = layout.FINGERPRINT
_FIELDS, _BEGAN = layout.FINGERPRINT_FIELDS, layout.FINGERPRINT_TIME
_SHARED = layout.FINGERPRINT_SHARED

# Elements combined at a time: 4 KB of float32 stays in the first-level cache over all ranks.
_BLOCK = 1024


@numba.njit(nogil=True, cache=True)
def write_fingerprint(
    base: int, rank: int, number: int, kind: int, dtype: int, count: int, detail: int, shared: int
) -> None:
    """Say what this rank is about to do; ``arrive`` makes it visible."""
    at = base + rank * _STRIDE + _FINGERPRINT + (number & 1) * 64
    store(at, number)
    store(at + 8, kind)
    store(at + 16, dtype)
    store(at + 24, count)
    store(at + 32, detail)
    note_time(at + _BEGAN)
    store(at + _SHARED, shared)


@numba.njit(nogil=True, cache=True)
def arrive(base: int, rank: int, step: int) -> None:
    """Publish ``step``: what this rank has written up to here may be read."""
    at = base + rank * _STRIDE
    publish(at + _ARRIVED, at + _SLEEPERS, step)


@numba.njit(nogil=True, cache=True)
def wait_step(base: int, world_size: int, first: int, step: int, timespec: int, mover: int) -> int:
    """Wait for ranks ``first`` and up to publish ``step``; return the first that is late, that is,
    has not done so after one sleep of ``wait_for``, or ``world_size``.

    ``mover`` is this rank, if it may change its core; else it is negative.
    """
    for r in range(first, world_size):
        at = base + r * _STRIDE
        if not wait_for(at + _ARRIVED, at + _SLEEPERS, step, timespec, moves_from(r, mover)):
            return r
    return world_size


@numba.njit(nogil=True, cache=True)
def moves_from(rank: int, mover: int) -> int:
    """What ``mover``, if not negative, does on the core of ``rank``: of two ranks one moves."""
    if mover < 0:
        return STAYS
    return MOVES_FIRST if mover > rank else MOVES_WHEN_WOKEN


@numba.njit(nogil=True, cache=True)
def have_arrived(base: int, world_size: int, step: int) -> bool:
    """Whether every rank has published ``step``, without waiting."""
    for r in range(world_size):  # noqa: SIM110 - all() over a generator is not compiled
        if load(base + r * _STRIDE + _ARRIVED) < step:
            return False
    return True


@numba.njit(nogil=True, cache=True)
def has_arrived(base: int, rank: int, step: int) -> bool:
    """Whether ``rank`` has published ``step``."""
    return load(base + rank * _STRIDE + _ARRIVED) >= step


@numba.njit(nogil=True, cache=True)
def latest(base: int, world_size: int, offset: int) -> tuple[int, int]:
    """The rank that has noted the last time at ``offset`` of its control block, and that time in
    nanoseconds.
    """
    found, last = 0, -1
    for r in range(world_size):
        at = base + r * _STRIDE + offset
        noted = load(at) * 1_000_000_000 + load(at + 8)
        if noted > last:
            found, last = r, noted
    return found, last


@numba.njit(nogil=True, cache=True)
def depart(base: int, rank: int, why: int) -> None:
    """Say that ``rank`` takes part in no further step."""
    store(base + rank * _STRIDE + _DEPARTED, why)


@numba.njit(nogil=True, cache=True)
def departure(base: int, rank: int) -> int:
    """Why ``rank`` left, 0 while it has not."""
    return load(base + rank * _STRIDE + _DEPARTED)


@numba.njit(nogil=True, cache=True)
def first_disagreement(base: int, world_size: int, rank: int, number: int) -> int:
    """The first rank whose fingerprint differs from ours, or -1."""
    offset = _FINGERPRINT + (number & 1) * 64
    mine = base + rank * _STRIDE + offset
    for r in range(world_size):
        theirs = base + r * _STRIDE + offset
        for i in range(_FIELDS):
            if load(theirs + 8 * i) != load(mine + 8 * i):
                return r
    return -1


@numba.njit(nogil=True, cache=True)
def all_shared(base: int, world_size: int, number: int) -> bool:
    """Whether every rank has come to collective ``number`` with a shared tensor."""
    offset = _FINGERPRINT + (number & 1) * 64 + _SHARED
    for r in range(world_size):  # noqa: SIM110 - all() over a generator is not compiled
        if load(base + r * _STRIDE + offset) == 0:
            return False
    return True


@numba.njit(nogil=True, cache=True)
def elements_at(address: int, count: int, like: Any) -> Any:
    """The ``count`` elements at ``address``, of the type of those of ``like``."""
    return carray(pointer_at(address, like), count)


@numba.njit(nogil=True, cache=True)
def sum_rows(memory: Any, start: int, stride: int, world_size: int, out: Any) -> None:
    """``out[i] = memory[start + i] + memory[start + stride + i] + ...`` over two rows or more, in
    that order.

    Flat memory, and slices counted from 0: the compiler vectorises only what it knows to be
    contiguous and not to wrap around. Over a two-dimensional view the same loops took 4 to 20 times
    as long.
    """
    count = out.shape[0]
    for low in range(0, count, _BLOCK):
        size = min(_BLOCK, count - low)
        target = out[low : low + size]
        first = memory[start + low : start + low + size]
        second = memory[start + stride + low : start + stride + low + size]
        for i in range(size):
            target[i] = first[i] + second[i]
        for r in range(2, world_size):
            row = memory[start + r * stride + low : start + r * stride + low + size]
            for i in range(size):
                target[i] += row[i]


@numba.njit(nogil=True, cache=True)
def add_others(memory: Any, first: int, stride: int, world_size: int, rank: int, part: Any) -> None:
    """Make ``part``, which the own row holds a copy of, the sum over all rows from element
    ``first`` of ``memory`` on, in rank order.

    The own row is not read again, which takes a third less time between two ranks.
    """
    before = np.empty(_BLOCK if rank > 1 else 0, memory.dtype)
    for low in range(0, part.shape[0], _BLOCK):
        size = min(_BLOCK, part.shape[0] - low)
        target = part[low : low + size]
        start = first + low
        if rank == 1:
            row = memory[start : start + size]
            for i in range(size):
                target[i] += row[i]
        elif rank > 1:
            sum_rows(memory, start, stride, rank, before[:size])
            for i in range(size):
                target[i] = before[i] + target[i]
        for r in range(rank + 1, world_size):
            row = memory[start + r * stride : start + r * stride + size]
            for i in range(size):
                target[i] += row[i]


@numba.njit(nogil=True, cache=True)
def finish_piece(
    memory: Any, first: int, stride: int, world_size: int, rank: int, part: Any, divisor: int
) -> None:
    """Make ``part`` the sum over all rows, as ``add_others``, divided by ``divisor``."""
    add_others(memory, first, stride, world_size, rank, part)
    if divisor > 1:
        by = memory.dtype.type(divisor)
        for i in range(part.shape[0]):
            part[i] /= by


@numba.njit(nogil=True, cache=True)
def sum_pieces(
    base: int, rank: int, world_size: int, step: int, number: int, kind: int, dtype: int,
    detail: int, timespec: int, mover: int, memory: Any, parity_offset: int, stride: int,
    address: int, count: int, piece: int, streams: bool, done: int, divisor: int, shared: int,
) -> int:  # fmt: skip
    """Sum ``count`` elements at ``address`` over all ranks in place and divide them by ``divisor``,
    a step per ``piece`` of them: write the own row, publish, wait, compare, add. The first ``done``
    pieces are summed already; ``step`` is that of the next.

    The last elements come first. Who fills a large tensor from its beginning has left its end in
    the cache, and who reads the sums will find their beginning there.

    With ``streams`` the own row is written past the cache.

    The buffers of a step begin at element 0 or ``parity_offset`` of ``memory``, by its parity.
    Returns how many pieces are summed: all, or those before one that was published but for which a
    rank is late or disagrees; -1 if after the first step all ranks turn out to have shared tensors,
    ``shared`` being the number of this one, or 0. ``number`` is that of the collective; 0 where its
    fingerprint was written and compared before. Compiled as one, and given an address, because
    entering compiled code and making views of a tensor took most of the time of a small collective.
    """
    if number > 0:
        write_fingerprint(base, rank, number, kind, dtype, count, detail, shared)
    data = elements_at(address, count, memory)
    total = max(1, (count + piece - 1) // piece)
    for i in range(done, total):
        low = (total - 1 - i) * piece
        part = data[low : min(low + piece, count)]
        first = (step & 1) * parity_offset
        begin = first + rank * stride
        if streams:
            row = memory.ctypes.data + begin * memory.itemsize
            size = part.shape[0] * memory.itemsize
            stream_copy(row, address + low * memory.itemsize, size)
        else:
            own = memory[begin : begin + part.shape[0]]
            for j in range(part.shape[0]):
                own[j] = part[j]
        arrive(base, rank, step)
        if wait_step(base, world_size, 0, step, timespec, mover) < world_size:
            return i
        if number > 0 and i == done and first_disagreement(base, world_size, rank, number) >= 0:
            return i
        if number > 0 and i == done and shared > 0 and all_shared(base, world_size, number):
            return -1
        finish_piece(memory, first, stride, world_size, rank, part, divisor)
        step += 1
    return total


@numba.njit(nogil=True, cache=True)
def sum_late_piece(
    memory: Any, first: int, stride: int, world_size: int, rank: int,
    address: int, count: int, divisor: int,
) -> None:  # fmt: skip
    """The end of a step of ``sum_pieces`` in which a rank was late."""
    part = elements_at(address, count, memory)
    finish_piece(memory, first, stride, world_size, rank, part, divisor)


@numba.njit(nogil=True, cache=True)
def sum_in_place(
    addresses: Any, start: int, stop: int, scale: float, divisor: int, like: Any
) -> None:
    """Replace elements [start, stop) at each of ``addresses``, one for a rank, by their sum in rank
    order, times ``scale`` and divided by ``divisor``, in one pass.

    Each rank calls it on its own share of the elements: every element is read once and written once
    per rank.
    """
    n = addresses.shape[0]
    factor, by = like.dtype.type(scale), like.dtype.type(divisor)
    for low in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - low)
        offset = low * like.itemsize
        first = elements_at(addresses[0] + offset, size, like)
        if n == 1:
            for i in range(size):
                first[i] = first[i] * factor / by
            continue
        last = elements_at(addresses[n - 1] + offset, size, like)
        for r in range(1, n - 1):
            row = elements_at(addresses[r] + offset, size, like)
            for i in range(size):
                first[i] += row[i]
        if divisor > 1:
            for i in range(size):
                value = (first[i] + last[i]) * factor / by
                first[i] = value
                last[i] = value
        else:
            for i in range(size):
                value = (first[i] + last[i]) * factor
                first[i] = value
                last[i] = value
        for r in range(1, n - 1):
            row = elements_at(addresses[r] + offset, size, like)
            for i in range(size):
                row[i] = first[i]


@numba.njit(nogil=True, cache=True)
def sum_past_caches(
    addresses: Any, rank: int, start: int, stop: int, scale: float, like: Any
) -> None:
    """``sum_in_place`` of two ranks, of which ``rank`` calls it: what belongs to the other is
    written past the caches of this core. Both addresses and ``start`` are those of cache lines.
    """
    size = like.itemsize
    end = stop - (stop - start) % (LINE // size)
    factor = like.dtype.type(scale)
    own, other = addresses[rank], addresses[1 - rank]
    for at in range(start * size, end * size, LINE):
        sum_lines(own + at, other + at, factor)
    sum_in_place(addresses, end, stop, scale, 1, like)
