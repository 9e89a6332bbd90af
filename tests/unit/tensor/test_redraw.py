"""Draws that overwrite a tensor of a graph."""

from __future__ import annotations

import numpy as np
import pytest

import paddle


@pytest.mark.parametrize("method", ["cauchy_", "uniform_", "normal_", "exponential_"])
def test_what_was_overwritten_gets_no_gradient(method: str) -> None:
    a = paddle.ones([3])
    a.stop_gradient = False
    b = a * 0.5
    b.retain_grads()
    getattr(b, method)()
    assert not b.stop_gradient
    (b * 2).sum().backward()
    np.testing.assert_array_equal(b.grad.numpy(), np.zeros(3))
    np.testing.assert_array_equal(a.grad.numpy(), np.zeros(3))


def test_leaves_of_the_graph_are_not_overwritten() -> None:
    a = paddle.ones([3])
    a.stop_gradient = False
    with pytest.raises(ValueError, match="Leaf"):
        a.uniform_()


def test_negative_bounds_of_gradients_are_refused() -> None:
    with pytest.raises(ValueError, match="clip_value"):
        paddle.nn.utils.clip_grad_value_(paddle.ones([2]), -1)
