"""Where an id lives: one 64-bit mix decides its shard, its server and its place in an index.

Ids are spread over a fixed number of shards and shards over servers in contiguous ranges, so a job
with another number of servers moves whole shards and never needs to know how many there were
before.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

NUM_SHARDS = 4096
_SHARD_SHIFT = np.uint64(52)  # the top twelve bits; an index uses the low ones


@numba.njit(nogil=True, cache=True, inline="always")
def mix(value: Any) -> Any:
    """Spread the bits of an integer over 64: neighbours end up far apart (the finaliser of
    SplitMix64).
    """
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def shards_of(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The shard of each id."""
    shards = np.empty(ids.shape[0], np.int64)
    for i in range(ids.shape[0]):
        shards[i] = np.int64(mix(ids[i]) >> _SHARD_SHIFT)
    return shards


def server_of(shards: npt.NDArray[np.int64], num_servers: int) -> npt.NDArray[np.int64]:
    """The server of each shard."""
    return shards * num_servers // NUM_SHARDS


@numba.njit(nogil=True, cache=True)
def split_by_server(
    ids: npt.NDArray[np.int64], num_servers: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of ``ids`` grouped by server, each group in the order of ``ids``; and where the
    groups begin, with the end at last.
    """
    starts = np.zeros(num_servers + 1, np.int64)
    servers = np.empty(ids.shape[0], np.int64)
    for i in range(ids.shape[0]):
        server = np.int64(mix(ids[i]) >> _SHARD_SHIFT) * num_servers // NUM_SHARDS
        servers[i] = server
        starts[server + 1] += 1
    for s in range(num_servers):
        starts[s + 1] += starts[s]
    order = np.empty(ids.shape[0], np.int64)
    free = starts[:-1].copy()
    for i in range(ids.shape[0]):
        order[free[servers[i]]] = i
        free[servers[i]] += 1
    return order, starts


@numba.njit(nogil=True, cache=True)
def draws_below(ids: npt.NDArray[np.int64], seed: int, limit: float) -> npt.NDArray[np.bool_]:
    """For each id whether a number in [0, 1) that only depends on it and ``seed`` is below
    ``limit``.
    """
    chosen = np.empty(ids.shape[0], np.bool_)
    for i in range(ids.shape[0]):
        bits = mix(mix(ids[i]) ^ np.uint64(seed))
        chosen[i] = np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0) < limit
    return chosen


@numba.njit(nogil=True, cache=True)
def unique(ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different ids in order of appearance, and for each of ``ids`` its position among them.
    Many times faster than sorting.
    """
    count, size = ids.shape[0], 16
    while size < 2 * count:
        size *= 2
    # places count from 1, so that fresh memory is free, and are unsigned as the hash is: a sixth
    # faster than with signs
    mask, one = np.uint64(size - 1), np.uint64(1)
    places = np.zeros(size, np.uint32)
    found = np.empty(count + 1, np.int64)
    positions = np.empty(count, np.int64)
    last = np.uint64(0)
    for i in range(count):
        wanted = ids[np.uint64(i)]
        at = mix(wanted) & mask
        place = places[at]
        while place != 0 and found[place] != wanted:
            at = (at + one) & mask
            place = places[at]
        if place == 0:
            last += one
            place = np.uint32(last)
            places[at] = place
            found[last] = wanted
        positions[np.uint64(i)] = np.int64(place) - 1
    return found[1 : np.int64(last) + 1].copy(), positions
