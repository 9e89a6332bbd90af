"""Operators by their type, at once."""

import pytest

import paddle
from paddle import _legacy_C_ops


@pytest.fixture(autouse=True)
def _eager():
    paddle.disable_static()


def test_inputs_then_attributes():
    x = paddle.full([2, 2], 3.0)
    assert _legacy_C_ops.mul(x, x).tolist() == [[18.0] * 2] * 2
    assert _legacy_C_ops.scale(x, "scale", 2.0, "bias", 1.0).tolist() == [[7.0] * 2] * 2
    assert _legacy_C_ops.sum([x, x, x]).tolist() == [[9.0] * 2] * 2
    assert _legacy_C_ops.scale_(x, "scale", 2.0) is x
    assert x.tolist() == [[6.0] * 2] * 2


def test_gradients_go_through():
    x = paddle.ones([2])
    x.stop_gradient = False
    _legacy_C_ops.elementwise_mul(x, x, "axis", -1).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_unknown_operators_tensors_and_attributes_are_refused():
    x = paddle.ones([2])
    with pytest.raises(AttributeError, match="has no attribute 'nothing_like_it'"):
        _ = _legacy_C_ops.nothing_like_it
    with pytest.raises(ValueError, match="expected tensors for"):
        _legacy_C_ops.scale(x, x, x, x)
    with pytest.raises(NotImplementedError, match="are not known"):
        _legacy_C_ops.scale(x, "wrong", 1.0)
