"""Fleet between real processes: roles, talk, topology, and training that equals one process on the
whole batch.
"""

from __future__ import annotations

import numpy as np
import pytest

from multiprocess import fleet_base_workers
from support.job import run_job

HERE = "multiprocess.fleet_base_workers"


@pytest.mark.parametrize("explicit", ["collective", "plain", "role"])
def test_roles(pool, explicit):
    run_job(pool, f"{HERE}:roles", 2, explicit=explicit)


@pytest.mark.parametrize("how", ["the_script", "arguments"])
def test_a_job_that_the_script_describes(pool, how):
    assert run_job(pool, f"{HERE}:described_by_{how}", 2) == [3.0, 3.0]


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 3), ("gloo", 2)])
def test_roles_and_collectives_of_fleet(pool, backend, world_size):
    run_job(pool, f"{HERE}:talk", world_size, backend=backend)


@pytest.mark.parametrize("world_size", [2, 4])
def test_topology(pool, world_size):
    run_job(pool, f"{HERE}:topology", world_size)


@pytest.mark.parametrize(("scale", "factor"), [("avg", 1.0), ("sum", 3.0)])
def test_dygraph_training_equals_one_process(pool, scale, factor):
    expected = fleet_base_workers.alone(factor)
    for found in run_job(pool, f"{HERE}:dygraph_training", 3, scale=scale):
        for mine, whole in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, whole, rtol=1e-12)


def test_torch_training_equals_one_process(pool):
    expected = fleet_base_workers.torch_alone()
    for found in run_job(pool, f"{HERE}:torch_training", 2):
        for mine, whole in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, whole, rtol=1e-12)


def test_synchronised_batch_norm(pool):
    results = run_job(pool, f"{HERE}:synchronised_batch_norm", 2)
    assert [name for name, _ in results] == ["SyncBatchNorm"] * 2
    np.testing.assert_allclose([mean for _, mean in results], [[0.05, 0.05]] * 2, rtol=1e-6)


def check_steps(results, expected):
    for found in results:
        for mine, whole in zip(found, expected, strict=True):
            for a, b in zip(mine, whole, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)


def test_gradient_merge(pool):
    switches = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2}}
    check_steps(
        run_job(pool, f"{HERE}:switched", 2, switches=switches),
        fleet_base_workers.alone_with(merge=2),
    )


def test_localsgd_that_meets_at_every_step(pool):
    """Averaging parameters after each step of SGD is averaging gradients."""
    switches = {"localsgd": True, "localsgd_configs": {"k_steps": 1}}
    check_steps(
        run_job(pool, f"{HERE}:switched", 3, switches=switches), fleet_base_workers.alone_with()
    )


def test_localsgd_that_meets_at_every_second_step(pool):
    switches = {"localsgd": True, "localsgd_configs": {"k_steps": 2}}
    first, second = run_job(pool, f"{HERE}:switched", 2, switches=switches)
    is_together = [np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True)]
    assert is_together == [True, False, True, False]  # the first step is before begin_step


def test_dgc_before_it_compresses_is_momentum(pool):
    switches = {"dgc": True, "dgc_configs": {"rampup_begin_step": 100}}
    results = run_job(pool, f"{HERE}:switched", 2, switches=switches, optimizer="Momentum")
    check_steps(results, fleet_base_workers.alone_with(optimizer="Momentum"))


@pytest.mark.parametrize("is_torch", [False, True])
def test_half_gradients(pool, is_torch):
    rounded = np.array([0.1, 1 + 2.0**-12], "float16").astype("float32").tolist()
    assert run_job(pool, f"{HERE}:half_gradients", 2, is_torch=is_torch) == [rounded] * 2


def test_overflow_is_shared(pool):
    assert run_job(pool, f"{HERE}:scaler", 2) == [(True, True)] * 2


def test_static_training_equals_one_process(pool):
    """To the precision of the learning rate, which a program keeps in float32."""
    expected, losses = fleet_base_workers.static_alone()
    results = run_job(pool, f"{HERE}:static_training", 2)
    for found, _ in results:
        for mine, whole in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, whole, rtol=1e-6)
    np.testing.assert_allclose(np.mean([own for _, own in results], axis=0), losses, rtol=1e-6)
