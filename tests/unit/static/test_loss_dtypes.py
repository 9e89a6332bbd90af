"""Losses refuse in programs what Paddle refuses there, though eager mode computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


@pytest.mark.usefixtures("static_mode")
@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.log_loss, F.hinge_embedding_loss])
def test_integers_are_refused(loss: Any) -> None:
    x = paddle.static.data("x", [2, 3], "float32")
    with pytest.raises(TypeError, match="int32"):
        loss(paddle.static.data("i", [2, 3], "int32"), x)
    assert loss(x, x) is not None


@pytest.mark.usefixtures("static_mode")
def test_arrays_are_refused() -> None:
    x = paddle.static.data("x", [2, 3], "float32")
    labels = np.ones(2, "float32")
    with pytest.raises(TypeError):
        F.npair_loss(x, x, labels)
    with pytest.raises(TypeError):
        F.npair_loss(labels, x, x)


@pytest.mark.usefixtures("static_mode")
def test_results_have_the_name_that_was_given() -> None:
    x = paddle.static.data("x", [2, 3], "float32")
    assert F.l1_loss(x, x, name="far").name == "far.tmp_0"
    assert paddle.add(x, x, name="sum").name == "sum"
    assert paddle.add(x, x).name.startswith("elementwise_add_0")


@pytest.mark.usefixtures("static_mode")
def test_the_rate_is_a_variable_of_the_program() -> None:
    adam = paddle.optimizer.Adam(0.25)
    assert adam._global_learning_rate() is None
    adam.minimize(paddle.mean(paddle.static.data("x", [2], "float32")))
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    [rate] = exe.run(feed={"x": np.ones(2, "float32")}, fetch_list=[adam._global_learning_rate()])
    assert float(rate) == 0.25
