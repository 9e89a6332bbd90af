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
