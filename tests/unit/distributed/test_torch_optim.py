from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import paddle
from paddle.distributed.fleet.torch_optim import Lamb, Lars


def _pair(dtype="float32"):
    draw = np.random.RandomState(0)
    values = [draw.normal(size=shape).astype(dtype) for shape in ((4, 3), (3,))]
    face = [paddle.create_parameter(list(v.shape), dtype) for v in values]
    for param, value in zip(face, values, strict=True):
        param.set_value(value)
    return face, [torch.nn.Parameter(torch.from_numpy(v.copy())) for v in values]


def _train(face, ours, face_rule, rule, steps=4):
    for step in range(steps):
        draw = np.random.RandomState(step + 1)
        for a, b in zip(face, ours, strict=True):
            grad = draw.normal(size=a.shape).astype("float32")
            a.grad = paddle.to_tensor(grad)
            b.grad = torch.from_numpy(grad.copy())
        face_rule.step()
        rule.step()
    for a, b in zip(face, ours, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.detach().numpy())


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_lars(decay):
    face, ours = _pair()
    wanted = paddle.incubate.optimizer.LarsMomentumOptimizer(
        0.1, 0.9, lars_coeff=0.1, lars_weight_decay=decay, parameter_list=face, epsilon=0.01
    )
    _train(face, ours, wanted, Lars(ours, 0.1, 0.9, 0.1, decay, 0.01))


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_lamb(decay):
    face, ours = _pair()
    wanted = paddle.optimizer.Lamb(0.1, decay, 0.9, 0.99, 1e-6, parameters=face)
    _train(face, ours, wanted, Lamb(ours, 0.1, (0.9, 0.99), 1e-6, decay))


def test_state_goes_round_trip_and_parameters_may_come_later():
    _, (first, second) = _pair()
    rule = Lamb([{"params": [first]}, {"params": [second], "lamb_weight_decay": 0.0}], lr=0.1)
    first.grad = torch.ones_like(first)
    assert rule.step(lambda: 3.0) == 3.0
    second.grad = torch.ones_like(second)
    rule.step()
    assert [float(rule.state[p]["step"]) for p in (first, second)] == [2.0, 1.0]
    other = Lamb(
        [
            {"params": [first.detach().clone().requires_grad_()]},
            {"params": [second.detach().clone().requires_grad_()]},
        ]
    )
    other.load_state_dict(copy.deepcopy(rule.state_dict()))
    for group, twin in zip(rule.param_groups, other.param_groups, strict=True):
        for p, q in zip(group["params"], twin["params"], strict=True):
            q.grad = p.grad.clone()
    rule.step()
    other.step()
    for group, twin in zip(rule.param_groups, other.param_groups, strict=True):
        assert torch.equal(group["params"][0], twin["params"][0])


def test_rows():
    _, (weight, _) = _pair()
    before = weight.detach().clone()
    weight.grad = torch.sparse_coo_tensor(
        [[1]], torch.ones(1, 3), weight.shape, check_invariants=False
    )
    Lars([weight], 0.1, lars_weight_decay=0.0).step()
    assert torch.equal(weight[0], before[0])
    torch.testing.assert_close(weight[1], before[1] - 0.1)
