"""Containers beyond what golden data can show: aliasing, mutation, messages."""

import copy
import pickle

import pytest

import paddle
from paddle import nn


def linears(n):
    return [nn.Linear(2, 2) for _ in range(n)]


def test_sequential_shares_the_layers_of_a_slice():
    model = nn.Sequential(*linears(3))
    assert model[:2][1] is model[1]


def test_sequential_slice_of_a_subclass_is_of_that_class():
    class Block(nn.Sequential):
        pass

    assert type(Block(*linears(2))[:1]) is Block


def test_append_insert_extend_return_the_sequential():
    model = nn.Sequential()
    a, b, c = linears(3)
    assert model.append(a) is model
    assert model.insert(0, b) is model
    assert model.extend([c]) is model
    assert list(model) == [b, a, c]


def test_layer_list_renumbers_after_delete():
    a, b, c = linears(3)
    layers = nn.LayerList([a, b, c])
    del layers[0]
    assert list(layers._sub_layers) == ["0", "1"]
    assert layers[0] is b
    layers.append(a)
    assert layers[2] is a


def test_layer_list_accepts_a_generator_and_hides_numbers_in_dir():
    layers = nn.LayerList(layer for layer in linears(2))
    assert len(layers) == 2
    assert "0" not in dir(layers)


def test_index_error_names_class_and_range():
    with pytest.raises(
        IndexError, match=r"LayerList: index 5 is out of range, expected one in \[-2, 2\)"
    ):
        nn.LayerList(linears(2))[5]


def test_layer_dict_updates_from_another():
    first = nn.LayerDict({"a": nn.Linear(1, 1)})
    second = nn.LayerDict({"b": nn.Linear(1, 1)})
    second.update(first)
    assert list(second) == ["b", "a"]
    assert second["a"] is first["a"]


def test_parameter_dict_updates_from_another():
    first = nn.ParameterDict({"a": paddle.create_parameter([1], "float32")})
    second = nn.ParameterDict()
    second.update(first)
    assert second["a"] is first["a"]


def test_parameter_list_assignment_copies_into_the_parameter():
    p = paddle.create_parameter([2], "float32")
    held = nn.ParameterList([p])
    held[0] = paddle.to_tensor([3.0, 4.0])
    assert held[0] is p
    assert p.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_are_independent(duplicate):
    model = nn.Sequential(("fc", nn.Linear(2, 2)), ("rest", nn.LayerList(linears(2))))
    other = duplicate(model)
    other["fc"].weight.set_value(paddle.zeros([2, 2]))
    assert float(abs(model["fc"].weight).sum()) > 0
    assert list(other.state_dict()) == list(model.state_dict())


def test_entry_of_a_parameter_list_is_replaced():
    params = paddle.nn.ParameterList([paddle.create_parameter([2, 2], "float32")])
    new = paddle.create_parameter([2, 3], "float32")
    params[0] = new
    assert params[0] is new
    params[0] = paddle.ones([2, 3])
    assert params[0] is new
    assert new.tolist() == [[1.0] * 3] * 2
