"""The compiled loops of data parallelism against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.parallel import kernels


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("count", "width"), [(0, 4), (1, 1), (500, 3), (500, 16), (500, 32)])
def test_rows_of_one_id_are_added_in_their_order(count, width, dtype, streams):
    rng = np.random.default_rng(count + width)
    ids = np.sort(rng.integers(0, 200, count))
    rows = rng.normal(size=(count, width)).astype(dtype)
    addresses = rows.ctypes.data + np.arange(count) * rows.strides[0]
    unique = np.unique(ids)
    expected = np.zeros((len(unique), width), dtype)
    np.add.at(expected, np.searchsorted(unique, ids), rows * dtype(0.5))
    memory = np.full(len(unique) * width + 40, 7, dtype)
    out_ids, out = np.zeros(len(unique), np.int64), memory[5 : 5 + expected.size]
    kernels.add_by_id(ids, addresses, 0.5, out_ids, out.reshape(-1, width), streams)
    np.testing.assert_array_equal(out_ids, unique)
    np.testing.assert_array_equal(out.reshape(-1, width), expected)
    assert (memory[:5] == 7).all()
    assert (memory[5 + expected.size :] == 7).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes", [(0, 0), (0, 5), (5, 0), (1, 1), (300, 200), (90, 100, 110)], ids=str
)
def test_parts_are_merged_in_their_order(sizes, dtype):
    rng = np.random.default_rng(sum(sizes))
    ids = [np.sort(rng.choice(400, size, replace=False)) for size in sizes]
    rows = [rng.normal(size=(size, 5)).astype(dtype) for size in sizes]
    unique = np.unique(np.concatenate(ids))
    expected = np.zeros((len(unique), 5), dtype)
    for part, values in zip(ids, rows, strict=True):
        expected[np.searchsorted(unique, part)] += values * dtype(0.3)
    every = np.concatenate(ids)
    addresses = np.array([values.ctypes.data for values in rows])
    ways = {"any": (kernels.merge_by_id, np.cumsum([0, *sizes]), ())}
    if len(sizes) == 2:
        spare = np.empty_like(every), np.empty_like(every)
        ways["two"] = (kernels.merge_two, sizes[0], spare)
    for merge, where, spare in ways.values():
        out_ids, out = np.zeros(len(every), np.int64), np.full((len(every), 5), 7, dtype)
        count = merge(every, where, addresses, 0.3, out_ids, out, *spare)
        assert count == len(unique)
        np.testing.assert_array_equal(out_ids[:count], unique)
        np.testing.assert_array_equal(out[:count], expected)
        assert (out[count:] == 7).all()
