"""Sharding: n ranks that split the optimizer's state do what one process does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from multiprocess import sharding_workers
from support import models
from support.job import run_job

HERE = "multiprocess.sharding_workers"
LEVELS = ["os", "os_g"]


def close(a, b, limit=1e-12):
    return np.abs(np.asarray(a) - np.asarray(b)).max() <= limit * max(
        np.abs(np.asarray(b)).max(), 1e-3
    )


def alone(kind, dtype, name="mlp"):
    with paddle.utils.unique_name.guard():
        model = models.build(paddle, name, dtype)
        optimizer = sharding_workers.make_optimizer(kind, model)
        losses = sharding_workers.run(
            model, optimizer, range(sharding_workers.STEPS), dtype, 0, 1, name
        )
        return losses, models.state_of(model), optimizer.state_dict()


@pytest.mark.parametrize(
    ("kind", "dtype", "backend", "world_size"),
    [
        ("adamw", "float64", "shm", 2),
        ("adamw", "float64", "shm", 4),
        ("adamw", "float64", "gloo", 2),
        ("groups", "float64", "shm", 4),
        ("momentum", "float32", "shm", 2),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_ranks_equal_one_process(pool, level, kind, dtype, backend, world_size):
    losses, state, optimizer_state = alone(kind, dtype)
    found = run_job(
        pool, f"{HERE}:face", world_size, level=level, kind=kind, dtype=dtype, backend=backend
    )
    limit = 1e-11 if dtype == "float64" else 2e-6
    assert close(np.mean([f[0] for f in found], 0), losses, limit)
    names = {k for k, v in optimizer_state.items() if isinstance(v, paddle.Tensor)}
    assert sorted(name for f in found for name in f[2]) == sorted(names)  # each on one rank
    for _, ours, _, whole in found:
        assert all(close(ours[key], value, limit) for key, value in state.items())
        assert set(whole) == names
        assert all(close(whole[key], optimizer_state[key].numpy(), limit) for key in names)


@pytest.mark.parametrize(
    ("level", "kind", "name"),
    [
        ("os", "adamw", "transformer"),
        ("os_g", "adamw", "transformer"),
        ("os", "adamw", "cnn"),
        ("os_g", "momentum", "cnn"),
        ("os", "sgd", "embedding"),
    ],
)
def test_other_models(pool, level, kind, name):
    _, state, _ = alone(kind, "float64", name)
    for f in run_job(
        pool, f"{HERE}:face", 2, level=level, kind=kind, dtype="float64", backend="shm", name=name
    ):
        assert all(close(f[1][key], value, 1e-9) for key, value in state.items())


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("level", LEVELS)
def test_gradients_stay_with_their_owners(pool, level, world_size):
    found = run_job(pool, f"{HERE}:gradients", world_size, level=level)
    assert [sum(column) for column in zip(*(owned for owned, _ in found), strict=True)] == [1] * 6
    for owned, has in found:
        assert has == ([True] * 6 if level == "os" else owned)


def test_ranks_use_different_parameters(pool):
    found = run_job(pool, f"{HERE}:branches", 2)
    merged = [
        [a if b is None else b for a, b in zip(*rows, strict=True)]
        for rows in zip(*found, strict=True)
    ]
    # inputs are 1 and 2: (1 + 2) / 2 where both, 1 / 2 or 2 / 2 where one of them
    assert merged == [[1.5 + 0.5, 1.5 + 1.0, None], [1.5, None, 0.5]]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("saved_by", "resumed_by"), [(2, 4), (4, 2)])
def test_checkpoints_fit_any_number_of_ranks(pool, tmp_path, level, saved_by, resumed_by):
    wanted = np.mean(run_job(pool, f"{HERE}:save", saved_by, level=level, folder=str(tmp_path)), 0)
    for before in (False, True):
        got = run_job(
            pool, f"{HERE}:resume", resumed_by, level=level, folder=str(tmp_path), before=before
        )
        assert close(np.mean(got, 0), wanted, 1e-11)
    with paddle.utils.unique_name.guard():  # and one process
        model = models.build(paddle, "mlp", "float64")
        model.set_state_dict(paddle.load(f"{tmp_path}/model.pdmodel"))
        optimizer = sharding_workers.make_optimizer("adamw", model)
        optimizer.set_state_dict(paddle.load(f"{tmp_path}/model.pdopt"))
        assert close(
            sharding_workers.run(model, optimizer, range(3, 6), "float64", 0, 1), wanted, 1e-11
        )


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("level", LEVELS)
def test_optimizer_memory_is_divided(pool, level, world_size):
    for own, total in run_job(pool, f"{HERE}:memory", world_size, level=level):
        assert own <= total * (1 / world_size + 0.05)


@pytest.mark.parametrize("level", LEVELS)
def test_master_weights(pool, level):
    found = run_job(pool, f"{HERE}:masters", 2, level=level)
    (whole, first), (same, second) = found
    assert len(whole) == 6
    assert sorted(first + second) == sorted(whole)
    assert all(np.array_equal(whole[key], same[key]) for key in whole)


@pytest.mark.parametrize("level", LEVELS)
def test_an_overflow_is_skipped_by_all(pool, level):
    found = run_job(pool, f"{HERE}:overflow", 2, level=level)
    assert found[0] == found[1]
    scales, weights = found[0]
    assert scales == [8.0, 4.0, 4.0]
    assert weights[0] == weights[1] != weights[2]


def test_refusals(pool):
    for words in run_job(pool, f"{HERE}:refusals", 2):
        assert "The level must be os, os_g or p_g_os" in words[0]
        assert "sync_buffers, dp_group and exclude_layer for a torch module" in words[1]
        assert "does not have parameter 'bias'" in words[2]
        assert "parameter 'weight' has row-sparse gradients; use stage 1" in words[3]
        assert "which is not the model's" in words[4]
        assert "clipping by OwnClip" in words[5]
        assert "must be a list with layers' name or layers' id" in words[6]


@pytest.mark.parametrize("level", [*LEVELS, "p_g_os"])
def test_uneven_parameters(pool, level):
    """Ranks that own nothing, a parameter that outweighs all others, and one of a single
    element.
    """
    losses, state = sharding_workers.uneven(0, 1, level=level)
    for found in run_job(pool, f"{HERE}:uneven", 3, level=level):
        assert close(found[0], losses)
        assert all(close(found[1][key], value) for key, value in state.items())


@pytest.mark.parametrize("level", LEVELS)
def test_sharding_inside_data_parallelism(pool, level):
    losses, state, _ = alone("adamw", "float64")
    found = run_job(pool, f"{HERE}:hybrid", 4, level=level)
    assert close(np.mean([f[0] for f in found], 0), losses, 1e-11)
    for _, ours, _ in found:
        assert all(close(ours[key], value, 1e-11) for key, value in state.items())
    first, second, third, fourth = (f[2] for f in found)
    assert first + second == third + fourth == 6


def simple_torch():
    model = sharding_workers.torch_model()
    adam = torch.optim.AdamW(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.StepLR(adam, 2, 0.5)
    clip = lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # noqa: E731
    return sharding_workers.torch_train(model, adam, clip, range(4), 0, 1, scheduler), model


@pytest.mark.parametrize(
    ("world_size", "segment_size", "is_half"),
    [(2, 100, False), (4, 1 << 20, False), (4, 100, True)],
)
def test_stage_3_of_torch(pool, world_size, segment_size, is_half):
    losses, model = simple_torch()
    options = {"segment_size": segment_size, "is_half": is_half}
    # the first imports a lot
    found = run_job(pool, f"{HERE}:fully_sharded", world_size, deadline_s=100, **options)
    assert close(np.mean([f[0] for f in found], 0), losses, 1e-10)
    for _, whole, _ in found:
        assert all(
            close(a, b.detach().numpy(), 1e-9)
            for a, b in zip(whole, model.parameters(), strict=True)
        )
    copies = 2 if is_half else 1
    assert [sum(c) for c in zip(*(f[2] for f in found), strict=True)] == [
        p.numel() * copies for p in model.parameters()
    ]


@pytest.mark.parametrize(("level", "num_holders"), [("os", 2), ("os_g", 1)])
def test_torch_by_level(pool, level, num_holders):
    losses, _ = simple_torch()
    found = run_job(pool, f"{HERE}:torch_by_level", 2, level=level)
    assert close(np.mean([f[0] for f in found], 0), losses, 1e-9)
    assert sum(f[1] for f in found) == num_holders * 6  # weights and biases of three layers


def torch_alone():
    model = sharding_workers.torch_model()
    adam = torch.optim.AdamW(
        [
            {"params": list(model[0].parameters())},
            {"params": [*model[2].parameters(), *model[4].parameters()], "lr": 0.01},
        ],
        lr=0.02,
    )
    scheduler = torch.optim.lr_scheduler.StepLR(adam, 2, 0.5)
    clip = lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # noqa: E731
    losses = sharding_workers.torch_train(model, adam, clip, range(6), 0, 1, scheduler)
    return losses, [p.detach().numpy() for p in model.parameters()]


@pytest.mark.parametrize("stage", [1, 2])
def test_plain_torch(pool, stage, tmp_path):
    losses, params = torch_alone()
    first = run_job(pool, f"{HERE}:plain_torch", 4, stage=stage, folder=str(tmp_path), steps=(0, 3))
    rest = run_job(pool, f"{HERE}:plain_torch", 2, stage=stage, folder=str(tmp_path), steps=(3, 6))
    assert close(np.mean([f[0] for f in first], 0), losses[:3], 1e-11)
    assert close(np.mean([f[0] for f in rest], 0), losses[3:], 1e-11)
    for _, ours, _ in rest:
        assert all(close(a, b, 1e-10) for a, b in zip(ours, params, strict=True))
    # step and two moments of six parameters, each once
    assert sum(count for _, _, count in first) == 6 * 3
    # what was saved is what a plain optimizer can load
    model = sharding_workers.torch_model()
    plain = torch.optim.AdamW(
        [
            {"params": list(model[0].parameters())},
            {"params": [*model[2].parameters(), *model[4].parameters()]},
        ]
    )
    plain.load_state_dict(torch.load(tmp_path / "state.pt")["optimizer"])
    assert len(plain.state) == 6


def test_torch_scaler(pool):
    found = run_job(pool, f"{HERE}:torch_overflow", 2)
    assert found[0] == found[1]
    scales, weights = found[0]
    assert scales == [8.0, 4.0, 4.0]
    assert weights[0] == weights[1] != weights[2]
