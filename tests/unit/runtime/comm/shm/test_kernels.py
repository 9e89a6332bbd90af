"""The compiled loops against NumPy, and the waits."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from argosy.runtime.comm.backends.shm import kernels, layout, sync
from argosy.runtime.comm.backends.shm.streaming import LINE

LENGTHS = [0, 1, 5, 1023, 1024, 1025, 5000]


def rows(world_size: int, stride: int, dtype: type) -> np.ndarray:
    """Values that encode (row, column)."""
    return (np.arange(world_size)[:, None] * 10_000 + np.arange(stride)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("world_size", [2, 3, 5])
@pytest.mark.parametrize("count", LENGTHS)
def test_sum_rows(count, world_size, dtype):
    table = rows(world_size, 6000, dtype)
    out = np.full(count + 1, -1, dtype)
    kernels.sum_rows(table.reshape(-1), 7, 6000, world_size, out[:count])
    np.testing.assert_array_equal(out[:count], table[:, 7 : 7 + count].sum(0))
    assert out[count] == -1


def test_sum_rows_adds_in_rank_order():
    """1e8 swallows the 1 only if it comes first."""
    table = np.array([[1e8], [1.0], [-1e8]], np.float32)
    out = np.empty(1, np.float32)
    kernels.sum_rows(table.reshape(-1), 0, 1, 3, out)
    assert out[0] == 0
    kernels.sum_rows(table[[0, 2, 1]].reshape(-1), 0, 1, 3, out)
    assert out[0] == 1


def places(memory: np.ndarray, world_size: int) -> np.ndarray:
    """Where the rows of ``memory`` begin."""
    stride = memory.size // world_size * memory.itemsize
    return memory.ctypes.data + stride * np.arange(world_size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize(("start", "stop"), [(0, 0), (0, 6000), (16, 17), (100, 1124), (5, 5999)])
@pytest.mark.parametrize(("scale", "divisor"), [(0.25, 1), (1.0, 3), (1.0, 1)])
def test_sum_in_place(scale, divisor, start, stop, world_size, dtype):
    table = rows(world_size, 6000, dtype)
    expected = table.copy()
    total = table[0, start:stop].copy()
    for row in table[1:]:
        total += row[start:stop]
    expected[:, start:stop] = total * dtype(scale) / dtype(divisor)
    like = np.empty(0, dtype)
    kernels.sum_in_place(places(table, world_size), start, stop, scale, divisor, like)
    np.testing.assert_array_equal(table, expected)


def test_sum_in_place_adds_in_rank_order():
    """1e8 swallows the 1 only if it comes first."""
    table = np.array([[1e8], [1.0], [-1e8]], np.float32)
    kernels.sum_in_place(places(table, 3), 0, 1, 1.0, 1, np.empty(0, np.float32))
    assert table.tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("start", "stop"), [(0, 0), (16, 17), (0, 6016), (32, 5999), (6000, 6016)])
def test_sum_past_caches(start, stop, rank, dtype):
    """The same numbers in the same places as the usual way."""
    memory = aligned(2 * 6016, dtype)
    memory[:] = rows(2, 6016, dtype).reshape(-1) / 3
    expected, like = memory.copy(), np.empty(0, dtype)
    kernels.sum_in_place(places(expected, 2), start, stop, 0.5, 1, like)
    kernels.sum_past_caches(places(memory, 2), rank, start, stop, 0.5, like)
    np.testing.assert_array_equal(memory, expected)


def aligned(count: int, dtype: type) -> np.ndarray:
    """Memory that begins on a cache line."""
    memory = np.empty(count + LINE, dtype)
    skipped = -memory.ctypes.data % LINE // memory.itemsize
    return memory[skipped : skipped + count]


@pytest.fixture
def control():
    """Control blocks of three ranks: address and array."""
    blocks = np.zeros((3, layout.CONTROL_BYTES // 8), np.int64)
    return int(blocks.ctypes.data), blocks


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 1000])
@pytest.mark.parametrize("streams", [False, True])
def test_sum_pieces(control, nap, streams, count, divisor, dtype):
    """Rank 1 of three; the others have published everything, the same in each of their pieces."""
    base, blocks = control
    piece, stride = 100, 400  # two buffers of 200 elements for each rank
    memory = np.zeros(3 * stride, dtype)
    for rank in (0, 2):
        memory[rank * stride : (rank + 1) * stride] = 10.0**rank
    blocks[0, 0] = blocks[2, 0] = 50
    data = np.arange(count, dtype=dtype)
    done = kernels.sum_pieces(
        base, 1, 3, 7, 0, 0, 0, 0, nap[0], -1, memory, 200, stride,
        int(data.ctypes.data), count, piece, streams, 0, divisor, 0,
    )  # fmt: skip
    assert done == max(1, -(-count // piece))
    assert kernels.has_arrived(base, 1, 6 + done)
    assert not kernels.has_arrived(base, 1, 7 + done)
    expected = (1 + np.arange(count, dtype=dtype) + 100) / dtype(divisor)
    np.testing.assert_array_equal(data, expected)


def test_sum_pieces_stops_before_a_piece_for_which_a_rank_is_late(control, nap):
    base, blocks = control
    memory = np.zeros(3 * 400)
    blocks[0, 0], blocks[2, 0] = 50, 8  # rank 2 has published two of four pieces
    data = np.arange(350.0)
    done = kernels.sum_pieces(
        base, 1, 3, 7, 0, 0, 0, 0, nap[0], -1, memory, 200, 400,
        int(data.ctypes.data), 350, 100, False, 0, 2, 0,
    )  # fmt: skip
    assert done == 2  # the last elements come first
    np.testing.assert_array_equal(data[:200], np.arange(200.0))
    np.testing.assert_array_equal(data[200:], np.arange(200.0, 350.0) / 2)
    assert kernels.has_arrived(base, 1, 9)
    kernels.sum_late_piece(memory, 200, 400, 3, 1, int(data.ctypes.data) + 800, 100, 2)
    np.testing.assert_array_equal(data[100:200], np.arange(100.0, 200.0) / 2)


@pytest.fixture
def nap():
    """The address of a timespec of 5 ms, kept alive by the array beside it."""
    timespec = np.array([0, 5_000_000], np.int64)
    return int(timespec.ctypes.data), timespec


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("count", LENGTHS)
def test_add_others(count, rank):
    """In rank order: 1e8 swallows what comes between it and its negative."""
    table = rows(5, 6000, np.float32)
    table[0, 7], table[2, 7] = 1e8, -1e8
    part = table[rank, 7 : 7 + count].copy()
    expected = table[0, 7 : 7 + count].copy()
    for row in table[1:]:
        expected += row[7 : 7 + count]
    kernels.add_others(table.reshape(-1), 7, 6000, 5, rank, part)
    np.testing.assert_array_equal(part, expected)


def test_of_two_ranks_on_a_core_one_moves():
    assert kernels.moves_from(0, 1) == sync.MOVES_FIRST
    assert kernels.moves_from(1, 0) == sync.MOVES_WHEN_WOKEN
    assert kernels.moves_from(0, -1) == kernels.moves_from(1, -1) == sync.STAYS


def test_steps_and_departures(control):
    base, _ = control
    kernels.arrive(base, 1, 3)
    assert kernels.has_arrived(base, 1, 3)
    assert not kernels.has_arrived(base, 1, 4)
    assert not kernels.have_arrived(base, 3, 1)
    for rank in (0, 2):
        kernels.arrive(base, rank, 1)
    assert kernels.have_arrived(base, 3, 1)
    assert [kernels.departure(base, rank) for rank in range(3)] == [0, 0, 0]
    kernels.depart(base, 2, layout.GAVE_UP)
    assert [kernels.departure(base, rank) for rank in range(3)] == [0, 0, layout.GAVE_UP]


def test_wait_step_returns_the_first_late_rank(control, nap):
    base, _ = control
    kernels.arrive(base, 0, 1)
    kernels.arrive(base, 2, 1)
    assert kernels.wait_step(base, 3, 0, 1, nap[0], 2) == 1
    kernels.arrive(base, 1, 1)
    assert kernels.wait_step(base, 3, 1, 1, nap[0], 0) == 3


def test_fingerprints_alternate_and_are_compared(control):
    base, _ = control
    for rank in range(3):
        kernels.write_fingerprint(base, rank, 1, 2, 3, 4, 5, 0)
        kernels.write_fingerprint(base, rank, 2, 2, 3, 4 + (rank == 2), 5, 0)
    assert kernels.first_disagreement(base, 3, 0, 1) == -1
    assert kernels.first_disagreement(base, 3, 0, 2) == 2
    assert kernels.first_disagreement(base, 3, 2, 2) == 0


def test_all_shared_looks_at_the_collective_that_is_asked_for(control):
    base, _ = control
    for rank in range(3):
        kernels.write_fingerprint(base, rank, 1, 2, 3, 4, 5, rank + 1)
        kernels.write_fingerprint(base, rank, 2, 2, 3, 4, 5, rank)
    assert kernels.first_disagreement(base, 3, 0, 2) == -1  # numbers may differ
    assert kernels.all_shared(base, 3, 1)
    assert not kernels.all_shared(base, 3, 2)


@pytest.mark.parametrize(("theirs", "expected"), [(9, -1), (0, 1)])
def test_sum_pieces_stops_after_a_step_in_which_all_have_shared_tensors(
    control, nap, theirs, expected
):
    base, blocks = control
    memory, data = np.zeros(3 * 400), np.arange(50.0)
    for rank in (0, 2):
        kernels.write_fingerprint(base, rank, 3, 1, 0, 50, 0, 9 if rank else theirs)
        blocks[rank, 0] = 50
    done = kernels.sum_pieces(
        base, 1, 3, 7, 3, 1, 0, 0, nap[0], -1, memory, 200, 400,
        int(data.ctypes.data), 50, 100, False, 0, 1, 4,
    )  # fmt: skip
    assert done == expected
    np.testing.assert_array_equal(data, np.arange(50.0))
    assert kernels.has_arrived(base, 1, 7)


def test_a_sleeper_is_woken(control):
    """A wait of ten seconds ends with the flag, not with the time."""
    base, blocks = control
    timespec = np.array([10, 0], np.int64)
    began = time.monotonic()
    waiting = threading.Thread(
        target=sync.wait_for,
        args=(base, base + layout.SLEEPERS, 1, int(timespec.ctypes.data), sync.STAYS),
        name="sleeper",
    )
    waiting.start()
    while blocks[0, layout.SLEEPERS // 8] == 0:
        time.sleep(0.001)
    sync.publish(base, base + layout.SLEEPERS, 1)
    waiting.join(9)
    assert time.monotonic() - began < 9
    assert blocks[0, layout.SLEEPERS // 8] == 0


@pytest.fixture
def cores():
    """Two cores that this thread may use; what it may use is as before afterwards."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("takes two cores")
    yield sorted(allowed)[:2]
    os.sched_setaffinity(0, allowed)


def test_a_thread_leaves_its_core_and_may_use_the_same_ones_afterwards(cores):
    sync.leave_core()  # compiled before it is looked at
    seen = set()
    for _ in range(50):
        os.sched_setaffinity(0, cores[:1])
        os.sched_setaffinity(0, cores)
        assert sync.leave_core()
        seen.add(_core())
        assert os.sched_getaffinity(0) == set(cores)
    assert cores[1] in seen


def test_a_thread_that_has_one_core_stays(cores):
    os.sched_setaffinity(0, cores[:1])
    assert not sync.leave_core()
    assert os.sched_getaffinity(0) == set(cores[:1])


def _core() -> int:
    """The core that this thread is on: the 39th field, of which the second may have blanks."""
    return int(Path("/proc/thread-self/stat").read_text().rsplit(")", 1)[1].split()[36])
