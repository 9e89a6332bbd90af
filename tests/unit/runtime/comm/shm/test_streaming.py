"""Copies past the cache, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.comm.backends.shm.streaming import stream_copy


@pytest.mark.parametrize("num_bytes", [0, 1, 63, 64, 65, 127, 200, 4096, 4099])
@pytest.mark.parametrize("target_at", [0, 1, 4, 63, 64])
@pytest.mark.parametrize("source_at", [0, 3, 32])
def test_stream_copy(source_at, target_at, num_bytes):
    source = np.random.default_rng(0).integers(1, 256, 8192).astype(np.uint8)
    target = np.zeros(8192, np.uint8)
    first = -target.ctypes.data % 64 + target_at
    stream_copy(target.ctypes.data + first, source.ctypes.data + source_at, num_bytes)
    expected = np.zeros(8192, np.uint8)
    expected[first : first + num_bytes] = source[source_at : source_at + num_bytes]
    np.testing.assert_array_equal(target, expected)
