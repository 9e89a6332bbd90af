"""A whole step of training under ``to_static``."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

ROWS = np.random.RandomState(0).rand(8, 3).astype("float32")


def step(net, x, optimizer):
    loss = (net(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return loss


def losses(function, kind, scheduled):
    paddle.seed(1)
    net = paddle.nn.Linear(3, 3)
    rate = paddle.optimizer.lr.StepDecay(0.1, 1) if scheduled else 0.1
    optimizer = getattr(paddle.optimizer, kind)(rate, parameters=net.parameters())
    found = []
    for _ in range(3):
        found.append(float(function(net, paddle.to_tensor(ROWS), optimizer)))
        if scheduled:
            rate.step()
    return found


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("kind", ["SGD", "Momentum", "Adam"])
@pytest.mark.parametrize("scheduled", [True, False])
def test_a_step_that_calls_backward_trains_as_it_is_written(kind, scheduled, full_graph):
    static = paddle.jit.to_static(step, full_graph=full_graph)
    expected = losses(step, kind, scheduled)
    assert losses(static, kind, scheduled) == expected
    assert expected[2] < expected[0]


def test_layers_inside_of_such_a_step_are_programs():
    net = paddle.jit.to_static(paddle.nn.Linear(3, 3))
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    static = paddle.jit.to_static(step, full_graph=True)
    static(net, paddle.to_tensor(ROWS), optimizer)
    assert len(net.forward.program_cache) == 1
