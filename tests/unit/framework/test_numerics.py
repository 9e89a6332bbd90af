"""FLAGS_check_nan_inf."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import paddle


@pytest.fixture
def checked():
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    yield
    paddle.set_flags({"FLAGS_check_nan_inf": False})


def test_the_first_nan_or_infinity_is_an_error(checked):
    paddle.to_tensor([float("nan")])  # given, not computed
    assert paddle.log(paddle.ones([2])).sum() == 0
    with pytest.raises(RuntimeError, match=r"num_nan=1, num_inf=1.*'log'.*float32\[3\]"):
        paddle.log(paddle.to_tensor([-1.0, 0.0, 1.0]))
    paddle.set_flags({"FLAGS_check_nan_inf": False})
    assert paddle.log(paddle.to_tensor([-1.0])).isnan().all()


def test_gradients_are_looked_at(checked):
    x = paddle.zeros([2])
    x.stop_gradient = False
    y = paddle.sqrt(x).sum()
    with pytest.raises(RuntimeError, match="num_inf=2"):
        y.backward()


def test_training_goes_on(checked):
    layer = paddle.nn.Linear(3, 2)
    adam = paddle.optimizer.Adam(parameters=layer.parameters())
    for _ in range(2):
        layer(paddle.ones([4, 3])).mean().backward()
        adam.step()
        adam.clear_grad()


def test_programs_say_where(checked, static_mode):
    x = paddle.static.data("x", [2])
    out = paddle.log(x)
    exe = paddle.static.Executor()
    exe.run(feed={"x": np.ones(2, "float32")}, fetch_list=[out])
    with pytest.raises(RuntimeError, match=r"operator 0 'log'.*num_nan=2"):
        exe.run(feed={"x": -np.ones(2, "float32")}, fetch_list=[out])


def test_the_environment_sets_it():
    script = "import paddle; paddle.log(paddle.to_tensor([-1.0]))"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "FLAGS_check_nan_inf": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "There are NAN or INF" in run.stderr
