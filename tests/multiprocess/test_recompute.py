"""Recomputation under data parallelism and sharding: the same gradients as without."""

from __future__ import annotations

import numpy as np
import pytest

from support.job import run_job

HERE = "multiprocess.strategy_workers"


@pytest.mark.parametrize(
    ("find_unused", "level", "world_size"),
    [(False, None, 2), (True, None, 2), (True, None, 4), (False, "os", 2), (False, "os_g", 2)],
)
def test_gradients_are_those_without(pool, find_unused, level, world_size):
    options = {"find_unused": find_unused, "level": level}
    plain = run_job(pool, f"{HERE}:recomputed", world_size, recomputes=False, **options)
    again = run_job(pool, f"{HERE}:recomputed", world_size, recomputes=True, **options)
    seen = 0
    for wanted, found in zip(plain, again, strict=True):
        for before, after in zip(wanted, found, strict=True):
            for a, b in zip(before, after, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    seen += 1
                    np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-8)
                    assert np.abs(a).max() > 0
    assert seen > 0
    if level is None:
        np.testing.assert_array_equal(again[0][0][0], again[1][0][0])
