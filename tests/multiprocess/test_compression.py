"""Gradients in 16 bits on the wire, and gradient merge."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from support import models
from support.job import run_job

HERE = "multiprocess.strategy_workers"


# Half a unit in the last place of either type, twice: a gradient is rounded on its way and its mean
# on the way back. Five steps move no parameter by more than the largest one, so relative to that
# one no more can come of it.
@pytest.mark.parametrize(("wire", "limit"), [("float16", 2 * 2.0**-11), ("bfloat16", 2 * 2.0**-8)])
@pytest.mark.parametrize(
    ("backend", "world_size"), [("shm", 2), ("shm", 4), ("gloo", 2), ("gloo", 4)]
)
def test_training_is_near_and_ranks_are_equal(pool, backend, world_size, wire, limit):
    plain = run_job(pool, f"{HERE}:compressed", world_size, backend=backend, wire=None)
    half = run_job(pool, f"{HERE}:compressed", world_size, backend=backend, wire=wire)
    for key, value in plain[0][1].items():
        assert np.abs(half[0][1][key] - value).max() <= limit * np.abs(value).max(), key
        for other in half[1:]:
            np.testing.assert_array_equal(other[1][key], half[0][1][key])
    # it was rounded
    assert any(not np.array_equal(half[0][1][key], value) for key, value in plain[0][1].items())
    if backend == "shm":
        assert half[0][2] * 2 == plain[0][2]
    else:  # to its averager and, a share, to all
        assert half[0][2] <= plain[0][2] / 2 * (1 + 1 / world_size) * 1.05


@pytest.mark.parametrize(
    ("backend", "world_size"), [("hosts ab", 2), ("hosts aab", 3), ("hosts abc", 3), ("gloo", 2)]
)
@pytest.mark.parametrize(("wire", "limit"), [("float16", 2.0**-9), ("int8", 2.0**-5)])
def test_between_hosts_training_is_near_and_ranks_are_equal(pool, backend, world_size, wire, limit):
    """A parameter moves by the sum of five gradients, each off by a rounding: that of int8 is a
    half of 1/127 of the largest of its block.
    """
    plain = run_job(pool, f"{HERE}:compressed", world_size, backend=backend, wire=None)
    coded = run_job(pool, f"{HERE}:compressed", world_size, backend=backend, wire=wire)
    for key, value in plain[0][1].items():
        assert np.abs(coded[0][1][key] - value).max() <= limit * np.abs(value).max(), key
        for other in coded[1:]:
            np.testing.assert_array_equal(other[1][key], coded[0][1][key])
    assert any(not np.array_equal(coded[0][1][key], value) for key, value in plain[0][1].items())
    if backend.startswith("hosts"):
        assert coded[0][2] <= plain[0][2] * (0.55 if wire == "float16" else 0.35)


def test_on_one_host_int8_changes_nothing(pool):
    plain, coded = (
        run_job(pool, f"{HERE}:compressed", 2, backend="shm", wire=wire) for wire in (None, "int8")
    )
    for key, value in plain[0][1].items():
        np.testing.assert_array_equal(coded[0][1][key], value)


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("gloo", 2)])
def test_rounding(pool, backend, world_size):
    half = run_job(pool, f"{HERE}:rounding", world_size, backend=backend, wire="float16")
    # 1.5; below the smallest float16; 2049 rounds to 2048, 4098 to 4096 (ties to even), mean 3072;
    # beyond the largest
    assert half == [([1.5, 0.0, 3072.0, float("inf")], True)] * 2
    wide = run_job(pool, f"{HERE}:rounding", world_size, backend=backend, wire="bfloat16")
    (first, is_idle), same = wide
    assert same == (first, is_idle)
    assert is_idle
    assert first[1] > 0
    assert first[3] == pytest.approx(105000, rel=1e-2)


def test_between_hosts(pool, rendezvous):
    found = pool.run(f"{HERE}:hierarchical", 4, rendezvous=rendezvous, name="half-buckets")
    assert found == [[2.5, 3.5, 4.5, 5.5, 6.5]] * 4


def merged_alone(k_steps, avg):
    model = models.build(paddle, "mlp", "float64")
    optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())
    for start in range(0, 6, k_steps):
        total = 0
        for step in range(start, start + k_steps):
            x, y = models.batch("mlp", step, "float64")
            total = total + paddle.nn.functional.cross_entropy(
                model(paddle.to_tensor(x)), paddle.to_tensor(y)
            )
        (total / k_steps if avg else total).backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in model.parameters()]


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("avg", [True, False])
def test_gradient_merge(pool, world_size, avg):
    wanted = merged_alone(3, avg)
    for params, averages, updates in run_job(
        pool, f"{HERE}:merged", world_size, kind="face", k_steps=3, avg=avg
    ):
        assert updates == [False, False, True] * 2
        assert averages == 2  # one bucket, on the last backward of each three
        for ours, theirs in zip(params, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def test_gradient_merge_of_torch(pool):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)
    ).double()
    sgd = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    for step in range(0, 6, 2):
        sgd.zero_grad()
        for part in (step, step + 1):
            x, y = map(torch.from_numpy, models.batch("mlp", part, "float64"))
            (torch.nn.functional.cross_entropy(model(x), y) / 2).backward()
        sgd.step()
    for params, averages, _ in run_job(
        pool, f"{HERE}:merged", 2, kind="torch", k_steps=2, avg=True
    ):
        assert averages == 3
        for ours, theirs in zip(params, model.parameters(), strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-11)
