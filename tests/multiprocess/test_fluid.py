"""``fluid.dygraph.DataParallel`` on several ranks: the rule of 1.x."""

from __future__ import annotations

import numpy as np
import pytest

import paddle.fluid as fluid
from multiprocess import fluid_workers
from support.job import run_job

HERE = "multiprocess.fluid_workers"


def test_prepare_context_describes_the_job(pool):
    for rank, strategy in enumerate(run_job(pool, f"{HERE}:context", 2)):
        assert strategy["nranks"] == 2
        assert strategy["local_rank"] == rank
        assert len(strategy["trainer_endpoints"]) == 2
        assert strategy["trainer_endpoints"][rank] == strategy["current_endpoint"]


@pytest.mark.parametrize("world_size", [2, 3])
def test_loss_is_divided_and_gradients_are_summed(pool, world_size):
    found = run_job(pool, f"{HERE}:steps", world_size)
    total = sum(1.0 + rank for rank in range(world_size))
    for rank, seen in enumerate(found):
        value = 1.0 + rank
        # its own when made, rank 0's from the first forward on
        assert seen["weights"] == [value, 1.0]
        assert seen["keys"] == ["weight"]
        assert seen["loss"] == pytest.approx(2 * value)
        assert seen["scaled"] == pytest.approx(2 * value / world_size)
        assert seen["shape"] == [1]
        assert seen["own gradient"] == pytest.approx(value / world_size)
        assert seen["summed gradient"] == pytest.approx(total / world_size)
        assert seen["cleared gradient"] == 0.0


def test_layers_built_at_their_first_call_start_equal(pool):
    first, second = run_job(pool, f"{HERE}:built_late", 2)
    assert len(first) == 2
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_row_sparse_gradients_are_summed(pool):
    for first, second in run_job(pool, f"{HERE}:rows", 3):
        assert first == {0: [1.0, 1.0], 1: [1.0, 1.0], 2: [1.0, 1.0], 4: [3.0, 3.0]}
        assert second == {3: [1.0, 1.0]}


def test_ranks_with_different_gradients_are_told(pool):
    run_job(pool, f"{HERE}:different_gradients", 2)


def test_ranks_equal_one_process(pool):
    with fluid.dygraph.guard():
        alone = fluid_workers.build()
        expected = fluid_workers.train(fluid.dygraph.DataParallel(alone, None), 0, 1)
        state = {name: value.numpy() for name, value in alone.state_dict().items()}
    found = run_job(pool, f"{HERE}:trained", 2)
    np.testing.assert_allclose(np.mean([losses for losses, _ in found], 0), expected, rtol=2e-6)
    for _, ours in found:
        assert list(ours) == list(state)
        for name, value in state.items():
            np.testing.assert_allclose(ours[name], value, rtol=1e-5, atol=1e-6)
