"""``paddle.LazyGuard``."""

import numpy as np
import pytest

import paddle


def _lazy():
    with paddle.LazyGuard():
        return paddle.nn.Linear(2, 3)


def test_parameters_are_filled_when_they_are_asked_to():
    paddle.seed(3)
    expected = paddle.nn.Linear(2, 3).weight.tolist()
    layer = _lazy()
    assert not layer.weight._is_initialized()
    assert layer.weight.shape == [2, 3]
    with pytest.raises(ValueError, match="device meta"):
        layer(paddle.ones([1, 2]))
    paddle.seed(3)
    for parameter in layer.parameters():
        parameter.initialize()
    assert layer.weight.tolist() == expected
    assert layer.weight._is_initialized()
    assert not layer.weight.stop_gradient
    with pytest.raises(AssertionError, match="initialized already"):
        layer.weight.initialize()


def test_loading_a_state_fills_them():
    layer = _lazy()
    optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    layer.set_state_dict({"weight": np.ones((2, 3), "float32"), "bias": np.zeros(3, "float32")})
    layer(paddle.ones([1, 2])).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[0.5] * 3] * 2


def test_the_guard_ends():
    with pytest.raises(KeyError), paddle.LazyGuard():
        raise KeyError
    assert paddle.nn.Linear(2, 3).weight._is_initialized()
    guard = paddle.LazyGuard()
    with guard, pytest.raises(AssertionError, match="in force already"):
        guard.__enter__()
