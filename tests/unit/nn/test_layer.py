"""Layer: what golden cases cannot show."""

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle import nn


def test_loading_by_assignment_is_refused():
    layer = paddle.nn.Linear(2, 2)
    with pytest.raises(NotSupported, match="assign=True"):
        layer.load_state_dict(layer.state_dict(), assign=True)


def test_converting_state_dict_of_a_subclass():
    class Turned(nn.Linear):
        def state_dict(self, *args, **kwargs):
            return {"turned": super().state_dict(*args, **kwargs)["weight"].T}

    class Same(Turned):
        def set_state_dict(self, state_dict, *args, **kwargs):
            kept = {"weight": state_dict["turned"].T, "bias": self.bias}
            return super().set_state_dict(kept, *args, **kwargs)

    first, second = Same(2, 3), Same(2, 3)
    assert second.set_state_dict(first.state_dict()) == ([], [])
    assert second.weight.tolist() == first.weight.tolist()


def test_shape_and_training_of_parameters_are_checked():
    with pytest.raises(TypeError, match="made of integers"):
        paddle.create_parameter([1.0, 2.0], "float32")
    with pytest.raises(ValueError, match="MUST be bool, but the type is str"):
        nn.Linear(1, 1).weight.trainable = "1"


def test_gradients_move_to_the_dtype_of_their_layer():
    layer = paddle.nn.Linear(2, 2)
    layer(paddle.ones([1, 2])).sum().backward()
    layer.to(dtype="float64")
    assert layer.weight.grad.dtype == paddle.float64
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.ones([2, 2]))
    with pytest.raises(AssertionError, match="blocking and non_blocking must be"):
        layer.to(blocking=1)


def test_a_gradient_is_set_in_the_dtype_of_its_tensor():
    weight = paddle.nn.Linear(2, 2).weight
    weight.grad = paddle.full([2, 2], 0.5, "float64")
    assert weight.grad.dtype == paddle.float32
    with pytest.raises(ValueError, match="must have shape"):
        weight.grad = paddle.ones([2, 2], "int64")


def test_parameters_take_the_values_that_are_held_for_them():
    layer = paddle.nn.Layer()
    first, second = layer.create_parameter([2]), layer.create_parameter([2])
    layer._loaddict_holder[first.name] = np.array([3.0, 4.0], "float32")
    layer.add_parameter("first", first)
    np.testing.assert_array_equal(layer.first.numpy(), [3, 4])
    with pytest.raises(AssertionError, match="is not among the values that are held"):
        layer.second = second
