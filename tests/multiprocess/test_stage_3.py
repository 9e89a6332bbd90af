"""Sharding stage 3: n ranks with a part of every parameter do what one process does."""

from __future__ import annotations

import numpy as np
import pytest

from multiprocess import stage_3_workers as workers
from support.job import run_job

HERE = "multiprocess.stage_3_workers"


def assert_close(found, wanted, limit=1e-11):
    if isinstance(wanted, dict):
        assert set(found) == set(wanted)
        for key, value in wanted.items():
            assert_close(found[key], value, limit)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0.0) <= limit * max(
        np.abs(wanted).max(initial=0.0), 1e-3
    )


def assert_same_training(found, wanted, limit=1e-11):
    """``found``: losses, model and optimizer state of each rank; ``wanted``: those of one
    process.
    """
    assert_close(np.mean([losses for losses, *_ in found], 0), wanted[0], limit)
    for _, *states in found:
        for state, other in zip(states, wanted[1:], strict=True):
            assert_close(state, other, limit)


@pytest.mark.parametrize(
    ("world_size", "name", "kinds", "backend"),
    [
        (3, "mlp", workers.KINDS, "shm"),  # no size divides by three
        (2, "transformer", ["adamw"], "shm"),
        (2, "cnn", ["momentum"], "gloo"),
    ],
)
def test_ranks_equal_one_process(pool, world_size, name, kinds, backend):
    wanted = workers.trained(0, 1, kinds=kinds, name=name)
    found = run_job(
        pool,
        f"{HERE}:trained",
        world_size,
        kinds=list(kinds),
        name=name,
        backend=backend,
        deadline_s=100,
    )
    for kind in kinds:
        assert_same_training([f[kind] for f in found], wanted[kind], 1e-9)


@pytest.mark.parametrize("syncs", [True, False])
def test_awkward_models(pool, syncs):
    assert_same_training(
        run_job(pool, f"{HERE}:awkward", 2, syncs=syncs), workers.awkward(0, 1), 1e-7
    )  # some gradients nearly vanish


def test_memory_is_divided(pool):
    world_size = 2
    for found in run_job(pool, f"{HERE}:memory", world_size):
        whole, part = found["whole"], found["whole"] / world_size
        small = 0.1 * whole  # biases, which stay whole, and activations
        assert found["split"] <= part + small
        assert found["graph"] <= part + small  # nothing whole is kept for backward
        assert found["gradients"] <= 2 * part + 2 * small
        assert found["stepped"] <= 4 * part + 4 * small  # and two moments
        assert found["gathered"] >= found["stepped"] - part - small + 0.9 * whole
        assert found["between"] <= 3 * part + 4 * small


def test_checkpoints_fit_any_number_of_ranks(pool, tmp_path):
    wanted = np.mean(run_job(pool, f"{HERE}:save", 2, folder=str(tmp_path)), 0)
    for before in (True, False):
        found = run_job(pool, f"{HERE}:resume", 3, folder=str(tmp_path), before=before)
        assert_close(np.mean(found, 0), wanted)
    assert_close(workers.resume(0, 1, folder=str(tmp_path)), wanted)


def test_mixed_precision(pool):
    alone = workers.scaled(0, 1)
    (scales, sums, masters, weights), second = run_job(pool, f"{HERE}:scaled", 2)
    assert scales == second[0] == [8.0, 4.0, 4.0]
    # the step that overflowed on one rank was left out by both
    assert sums[0] == sums[1] != sums[2]
    assert_close(sums, alone[1], 1e-5)
    assert len(masters) == 6
    assert_close(masters, alone[2], 1e-6)
    assert_close(second[2], alone[2], 1e-6)
    assert_close(weights, alone[3], 1e-6)


def test_sharding_inside_data_parallelism(pool):
    wanted = workers.trained(0, 1, kinds=["adamw"])["adamw"]
    assert_same_training(run_job(pool, f"{HERE}:hybrid", 4), wanted)


def test_refusals(pool):
    for words in run_job(pool, f"{HERE}:refusals", 2):
        for name, text in {
            "Lamb": "NotSupported: sharding stage 3: Lamb",
            "ASGD": "NotSupported: sharding stage 3: ASGD",
            "LookAhead": "NotSupported: sharding: LookAhead around another optimizer",
            "LBFGS": "NotSupported: group_sharded_parallel: LBFGS",
            "sparse": "parameter 'weight' has row-sparse gradients",
            "segment": "segment_size must be GE than 0, but is -1",
            "optimizer": "does not have parameter 'bias'",
            "others": "which is not the model's",
            "exclude": "must be a list with layers' name or layers' id",
            "id": "the model has no layer with id 1",
            "clip": "NotSupported: sharding: clipping by OwnClip",
            "again": "this model is sharded already",
            "wrapped": "this model is sharded already",
            "read": "UsageError: sharding stage 3: parameter 'weight' is split over the ranks",
            "use": "list it in extra_parameters",
            "write": "parameter 'weight' is split over the ranks",
            "hook": "NotSupported: sharding stage 3: a hook on the gradient of 'weight'",
            "grad": "setting the gradient of parameter 'weight'",
            "clipped": "UsageError: sharding stage 3: the gradient of parameter 'weight' is split",
            "stepped": "UsageError: sharding stage 3: the gradient of parameter 'weight' is split",
            "cast": "parameter 'weight' is split over the ranks",
            "no_sync": "gradients of a backward under no_sync()",
            "fails": "shapes cannot be multiplied",
            "in place": "was changed in place after it was used",
            "order": "CollectiveMismatch: sharding stage 3: ranks [1] of group",
        }.items():
            assert text in words.get(name, "nothing was raised"), (name, words.get(name))


def test_by_fleet(pool):
    wanted = workers.by_fleet(0, 1, switches={})
    assert_same_training(run_job(pool, f"{HERE}:by_fleet", 2, switches={}), wanted, 1e-9)
    switches = {
        "sharding_configs": {"sharding_degree": 2},
        "recompute": True,
        "recompute_configs": {"checkpoints": ["0"]},
    }
    found = run_job(pool, f"{HERE}:by_fleet", 4, switches=switches, model_first=False)
    assert_same_training(found, wanted, 1e-9)
    merged = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True}}
    assert_same_training(
        run_job(pool, f"{HERE}:by_fleet", 2, switches=merged),
        workers.by_fleet(0, 1, switches=merged),
        1e-9,
    )
