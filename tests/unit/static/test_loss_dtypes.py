"""Losses refuse in programs what Paddle refuses there, though eager mode computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle.nn.functional as F
import pytest

import paddle


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
