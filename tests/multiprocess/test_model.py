"""A Model in a job of several processes: as one process with the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

from multiprocess import model_workers as workers
from support.job import run_job

HERE = "multiprocess.model_workers:train"


def check_equal(found, alone):
    losses, sizes, told, values = alone
    assert np.allclose(np.mean([f[0] for f in found], 0), losses, rtol=1e-6)
    for _, their_sizes, theirs, their_values in found:
        assert their_sizes == sizes
        for name in ("acc_top1", "acc_top2"):
            assert theirs[name] == told[name]
        for mine, expected in zip(their_values, values, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_static", [False, True], ids=["dygraph", "static"])
def test_two_ranks_train_and_evaluate_as_one_process_with_their_batches(pool, is_static):
    alone = workers.trained(batch_size=4, is_static=is_static)
    found = run_job(pool, HERE, 2, batch_size=2, is_static=is_static)
    assert sum(alone[1]) == 2 * workers.NUM_EVAL  # two epochs, and no sample counts twice
    check_equal(found, alone)


def test_gradients_of_several_batches_are_averaged_over_ranks(pool):
    alone = workers.trained(batch_size=4, is_static=False, accumulate=3)
    check_equal(run_job(pool, HERE, 2, batch_size=2, is_static=False, accumulate=3), alone)


def test_only_the_first_rank_writes_files(pool, tmp_path):
    run_job(pool, HERE, 2, batch_size=2, is_static=False, path=str(tmp_path / "model"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.pdopt", "model.pdparams"]
