"""Layer: what golden cases cannot show."""

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
