"""Models in files, for predictors."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.inference import Config


class Net(paddle.nn.Layer):
    """Two inputs, two outputs."""

    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(4, 8)
        self.second = paddle.nn.Linear(8, 2)

    def forward(self, x, y):
        hidden = paddle.nn.functional.relu(self.first(x) + y)
        return self.second(hidden), hidden


@pytest.fixture
def net():
    paddle.seed(3)
    return Net()


@pytest.fixture
def prefix(net, tmp_path):
    """Where ``net`` is saved."""
    spec = [
        paddle.static.InputSpec([None, 4], "float32", "x"),
        paddle.static.InputSpec([None, 8], "float32", "y"),
    ]
    path = str(tmp_path / "net")
    paddle.jit.save(net, path, input_spec=spec)
    return path


@pytest.fixture
def config(prefix):
    return Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams")


@pytest.fixture
def arrays():
    rng = np.random.default_rng(5)
    return rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=(3, 8)).astype("float32")
