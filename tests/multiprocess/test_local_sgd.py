"""LocalSGD: parameters become the mean over ranks at the right steps, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.parallel.local_sgd import next_k_steps
from multiprocess import strategy_workers as workers
from support.job import run_job

HERE = "multiprocess.strategy_workers"


def expected(world_size, meetings):
    """Parameters of each rank after each step, in NumPy."""
    params = [[p.numpy() for p in workers._start()] for _ in range(world_size)]
    history = []
    for step in range(10):
        for rank in range(world_size):
            grads = [
                workers.gradient(rank, step, i, shape).numpy()
                for i, shape in enumerate(workers.SHAPES)
            ]
            params[rank] = [p - 0.1 * g for p, g in zip(params[rank], grads, strict=True)]
        if step in meetings:
            means = [np.mean(column, 0) for column in zip(*params, strict=True)]
            params = [[m.copy() for m in means] for _ in range(world_size)]
        history.append([list(p) for p in params])
    return history


@pytest.mark.parametrize(
    ("world_size", "backend", "k_steps", "begin_step", "meetings"),
    [
        (2, "shm", 3, 1, {0, 3, 6, 9}),
        (4, "shm", 4, 2, {0, 1, 5, 9}),
        (2, "gloo", 1, 1, set(range(10))),
    ],
)
def test_parameters_become_the_mean(pool, world_size, backend, k_steps, begin_step, meetings):
    found = run_job(
        pool,
        f"{HERE}:local_sgd",
        world_size,
        k_steps=k_steps,
        begin_step=begin_step,
        backend=backend,
    )
    wanted = expected(world_size, meetings)
    for rank, (seen, met) in enumerate(found):
        assert {step for step, did in enumerate(met) if did} == meetings
        for step, params in enumerate(seen):
            for ours, theirs in zip(params, wanted[step][rank], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("world_size", [2, 4])
def test_adaptive(pool, world_size):
    # mean loss 8 at first; k = ceil(sqrt(lr_0 * loss / (lr * loss_0) * 4))
    losses = [8.0, 8.0, 2.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    rates = [0.1, 0.1, 0.1, 0.025, 0.025, 0.1, 0.1, 0.1]
    found = run_job(
        pool,
        f"{HERE}:adaptive",
        world_size,
        losses=losses,
        rates=rates,
        init_k_steps=4,
        begin_step=2,
    )
    for ks, met, value in found:
        # up to step 2 every step; k 4 from step 2 on: step 6 meets with lr and loss as at first:
        # ceil(sqrt(4)) = 2; step 8 meets
        assert met == [True, True, False, False, False, True, False, True]
        assert ks == [4, 4, 4, 4, 4, 2, 2, 2]
        assert value == (world_size - 1) / 2


@pytest.mark.parametrize(
    ("init", "first_loss", "loss", "first_lr", "lr", "k"),
    [
        (1, 2.0, 2.0, 0.1, 0.1, 1),
        (4, 2.0, 2.0, 0.1, 0.1, 2),
        (4, 2.0, 1.0, 0.1, 0.1, 2),
        (4, 2.0, 0.4, 0.1, 0.1, 1),
        (4, 2.0, 2.0, 0.1, 0.01, 7),
        (4, 2.0, 2.0, 0.1, 1e-6, 16),
        (4, 2.0, float("nan"), 0.1, 0.1, 1),
        (4, 0.0, 2.0, 0.1, 0.1, 1),
        (4, 2.0, float("inf"), 0.1, 0.1, 16),
    ],
)
def test_next_k_steps(init, first_loss, loss, first_lr, lr, k):
    assert next_k_steps(init, first_loss, loss, first_lr, lr) == k
