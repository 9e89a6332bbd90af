"""Draws, and what golden cases cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.distribution import Bernoulli, Categorical, Normal, Uniform, kl_divergence


@pytest.mark.parametrize(
    ("made", "shape", "expected"),
    [
        (lambda: Normal(0.0, 1.0), [], []),
        (lambda: Normal([0.0, 1.0], 1.0), [4], [4, 2]),
        (lambda: Uniform(0.0, 1.0), [3], [3]),
        (lambda: Categorical(np.ones([2, 3], "float32")), [5], [5, 2]),
        (lambda: Categorical(np.ones([3], "float32")), [2, 3], [2, 3]),
        (lambda: Bernoulli(paddle.to_tensor([0.5, 0.5])), [4], [4, 2]),
    ],
)
def test_draws_have_their_shape(made, shape, expected):
    assert list(made().sample(shape).shape) == expected


def test_draws_follow_the_distribution():
    paddle.seed(5)
    drawn = Normal(3.0, 0.5).sample([4000]).numpy()
    assert abs(drawn.mean() - 3) < 0.05
    assert abs(drawn.std() - 0.5) < 0.05
    assert (Categorical(paddle.to_tensor([0.0, 50.0])).sample([20]).numpy() == 1).all()
    assert 0 <= Uniform(0.0, 2.0).sample([100]).numpy().min()


def test_gradients_pass_through_rsample_only():
    scale = paddle.to_tensor([1.0], stop_gradient=False)
    assert Normal(paddle.zeros([1]), scale).sample([3]).stop_gradient
    Normal(paddle.zeros([1]), scale).rsample([3]).sum().backward()
    assert scale.grad is not None


def test_what_has_no_divergence_is_refused():
    with pytest.raises(NotImplementedError, match="Normal and Uniform"):
        kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0))
    with pytest.raises(TypeError, match="parameter of a distribution"):
        Normal("a", 1.0)
