from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import NotSupported, UsageError
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model


def train(model, optimizer, steps=2):
    for _ in range(steps):
        (model(paddle.ones([2, 3])) ** 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad()


def make():
    paddle.seed(0)
    model = paddle.nn.Linear(3, 2)
    clip = paddle.nn.ClipGradByGlobalNorm(0.5)
    return model, paddle.optimizer.Adam(0.1, parameters=model.parameters(), grad_clip=clip)


@pytest.mark.parametrize("level", ["os", "os_g"])
def test_a_process_alone(level, tmp_path):
    plain, adam = make()
    train(plain, adam)
    model, optimizer = make()
    with pytest.warns(UserWarning, match="single-card operation"):
        wrapped, sharded, scaler = group_sharded_parallel(model, optimizer, level)
    assert scaler is None
    train(wrapped, sharded)
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    save_group_sharded_model(wrapped, str(tmp_path / "out"), sharded)
    assert set(paddle.load(str(tmp_path / "out" / "model.pdmodel"))) == {"weight", "bias"}
    assert set(paddle.load(str(tmp_path / "out" / "model.pdopt"))) == set(optimizer.state_dict())


def test_the_older_way_to_step_and_rates():
    model, optimizer = make()
    with pytest.warns(UserWarning, match="single-card operation"):
        _, sharded, _ = group_sharded_parallel(model, optimizer, "os")
    before = model.weight.numpy()
    loss = (model(paddle.ones([2, 3])) ** 2).sum()
    loss.backward()
    assert isinstance(sharded, paddle.optimizer.Optimizer)
    _, pairs = sharded.minimize(loss)
    assert len(pairs) == 2
    assert not np.array_equal(before, model.weight.numpy())
    sharded.set_lr(0.25)
    assert sharded.get_lr() == optimizer.get_lr() == 0.25
    with pytest.raises(NotSupported, match=r"use step\(\)"):
        sharded.minimize(loss, parameters=model.parameters())
    model.to(dtype="float64")
    (model(paddle.ones([2, 3], "float64")) ** 2).sum().backward()
    with pytest.raises(
        UsageError, match="was given another dtype or device after group_sharded_parallel"
    ):
        sharded.step()


def test_refusals(tmp_path):
    model, optimizer = make()
    with pytest.raises(
        AssertionError, match=r"The model must be the instance of paddle\.nn\.Layer, but is a list"
    ):
        group_sharded_parallel([model], optimizer, "os")
    with pytest.raises(AssertionError, match="The optimizer must be the instance"):
        group_sharded_parallel(model, torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]), "os")
    with pytest.raises(NotSupported, match="LBFGS"):
        group_sharded_parallel(model, paddle.optimizer.LBFGS(parameters=model.parameters()), "os")
    with pytest.raises(AssertionError, match=r"must be a torch\.optim\.Optimizer"):
        group_sharded_parallel(torch.nn.Linear(1, 1), optimizer, "os")
    with pytest.raises(UsageError, match="wrapped with group_sharded_parallel"):
        save_group_sharded_model(model, str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(AssertionError, match="should be a directory, not a file"):
        save_group_sharded_model(model, str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="single-card operation"):
        _, sharded, _ = group_sharded_parallel(model, optimizer, "os")
    with pytest.raises(UsageError, match="sharded already"):
        group_sharded_parallel(model, sharded, "os")
