"""What Paddle's Python code calls on its C++ tensors."""

import copy

import numpy as np
import pytest

import paddle

FLOAT = paddle.base.core.VarDesc.VarType.FP32


def test_memory_is_shared_with_an_empty_tensor():
    source, target = paddle.ones([2, 3]), paddle.Tensor()
    assert str(target) == "Tensor(Not initialized)" == str(copy.deepcopy(target))
    assert not target._is_initialized()
    source._share_buffer_to(target)
    assert target._is_initialized()
    assert target.shape == [2, 3]
    assert target._is_shared_buffer_with(source)
    assert not target._is_shared_underline_tensor_with(source)
    source._share_underline_tensor_to(target)
    assert target._is_shared_underline_tensor_with(source)
    assert not target._is_shared_buffer_with(source.clone())
    assert source._slice(1, 2)._is_shared_buffer_with(source)
    source._clear()
    assert (source._is_initialized(), source._numel()) == (False, 0)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((np.ones([2]), paddle.CPUPlace(), True, False, "abc", False), {}),
        ((), {"value": np.ones([2]), "name": "abc", "persistable": True, "stop_gradient": False}),
    ],
)
def test_constructor_of_arrays(args, kwargs):
    tensor = paddle.Tensor(*args, **kwargs)
    assert (tensor.name, tensor.persistable, tensor.stop_gradient) == ("abc", True, False)
    assert tensor.tolist() == [1.0, 1.0]


def test_constructor_of_shapes_and_tensors():
    tensor = paddle.Tensor(FLOAT, [2, 3], "abc", "dense_tensor", True)
    assert (tensor.shape, tensor.dtype, tensor.persistable) == ([2, 3], paddle.float32, True)
    lod = paddle.base.LoDTensor()
    lod.set(np.arange(3), paddle.CPUPlace())
    for value in (paddle.arange(3), lod):
        assert paddle.Tensor(value, paddle.CPUPlace(), "copy").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="at most the arguments value, place, name"):
        paddle.Tensor(tensor, paddle.CPUPlace(), zero_copy=True)


def test_array_of_zero_copy_is_shared():
    array = np.zeros([2], "float32")
    tensor = paddle.Tensor(value=array, zero_copy=True)
    array[0] = 3.0
    assert tensor.tolist() == [3.0, 0.0]


def test_retained_gradient_is_of_the_value_at_that_time():
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x * 2
    y.retain_grads()
    y.register_hook(lambda grad: grad * 10)
    y.scale_(3.0)
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3.0, 3.0], [60.0, 60.0])
    y.clear_gradient()
    assert y.grad.tolist() == [0.0, 0.0]


def test_cleared_gradient_of_rows_is_gone():
    embedding = paddle.nn.Embedding(4, 2, sparse=True)
    embedding(paddle.to_tensor([1])).backward()
    assert embedding.weight.type == paddle.base.core.VarDesc.VarType.LOD_TENSOR
    assert embedding.weight.grad.type == paddle.base.core.VarDesc.VarType.SELECTED_ROWS
    embedding.weight.clear_gradient()
    assert embedding.weight.gradient() is None


def test_changes_in_place_are_counted():
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x * 2
    y.add_(y)
    y[0] = 1.0
    assert y.inplace_version == 2
    y._bump_inplace_version()
    assert y.inplace_version == 3


def test_hook_after_the_gradient_of_a_leaf():
    calls = []
    x = paddle.ones([1])
    with pytest.raises(ValueError, match="stops gradient"):
        x._register_backward_hook(lambda: None)
    x.stop_gradient = False
    x._register_backward_hook(lambda: calls.append(x.grad.item()))
    (x * 2).backward()
    (x * 2).backward()
    assert calls == [2.0, 4.0]
    with pytest.raises(ValueError, match="only leaf"):
        (x * 2)._register_backward_hook(lambda: None)


def test_gradient_by_hand():
    x = paddle.ones([2])
    x.stop_gradient = False
    x._zero_grads()
    assert x._grad_value().tolist() == [0.0, 0.0]
    x._copy_gradient_from(paddle.full([2], 4.0))
    assert x.grad.tolist() == [4.0, 4.0]


def test_values_are_set_through_the_tensor_of_a_parameter():
    linear = paddle.nn.Linear(2, 1)
    linear.weight.value().get_tensor().set(np.ones([2, 1], "float32"), paddle.CPUPlace())
    assert linear.weight.tolist() == [[1.0], [1.0]]
    assert not linear.weight.stop_gradient


def test_first_argument_of_an_in_place_form_has_any_name():
    x = paddle.zeros([2, 2])
    x.addmm_(x=paddle.ones([2, 2]), y=paddle.ones([2, 2]))
    assert x.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    paddle.addmm_(input=x, x=paddle.ones([2, 2]), y=paddle.ones([2, 2]))
    assert x.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_nodes_of_the_graph():
    x = paddle.ones([2])
    x.stop_gradient = False
    node = (x + x**2).grad_fn
    assert node.name() == "AddGradNode"
    assert {n.name() for n in node.next_functions} == {"GradNodeAccumulation", "PowGradNode"}
    leaf = next(n for n in node.next_functions if n.name() == "GradNodeAccumulation")
    assert leaf.next_functions == [None]
    assert x.grad_fn is None


def test_changes_of_a_gradient_are_forgotten():
    w = paddle.ones([2])
    w.stop_gradient = False
    (w * 3).sum().backward()
    w.grad.scale_(0.5)
    w._reset_grad_inplace_version(False)
    assert w.grad.inplace_version == 1
    w._reset_grad_inplace_version(True)
    assert w.grad.inplace_version == 0
    assert w.grad.tolist() == [1.5, 1.5]
