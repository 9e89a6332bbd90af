"""Tensors meet torch, NumPy and DLPack without copies; torch modules take our Tensors."""

import numpy as np
import pytest
import torch

import argosy
import paddle


def test_from_torch_shares_memory_and_graph():
    raw = torch.ones(3, requires_grad=True)
    doubled = raw * 2
    x = argosy.from_torch(doubled)
    assert x.data_ptr() == doubled.data_ptr()
    (x * x).sum().backward()
    assert raw.grad.tolist() == [8.0, 8.0, 8.0]


def test_torch_gives_the_tensor_inside():
    x = paddle.ones([2], "float32")
    x.torch().add_(1)
    assert x.tolist() == [2.0, 2.0]


def test_torch_functions_and_modules_take_tensors():
    x = paddle.to_tensor([[1.0, -2.0]], stop_gradient=False)
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    out = module(x)
    assert isinstance(out, paddle.Tensor)
    out.sum().backward()
    assert x.grad is not None
    assert module[0].weight.grad is not None
    assert isinstance(torch.cat([x, x]), paddle.Tensor)


def test_from_numpy_shares_memory():
    array = np.zeros(2, np.float32)
    x = argosy.from_numpy(array)
    array[0] = 5
    x.add_(paddle.to_tensor([0.0, 7.0]))
    assert x.tolist() == [5.0, 7.0]
    assert array.tolist() == [5.0, 7.0]


def test_numpy_is_a_copy_and_asarray_without_copy_is_not():
    x = paddle.ones([2])
    copied, shared = x.numpy(), np.asarray(x, copy=False)
    x.add_(paddle.ones([2]))
    assert copied.tolist() == [1.0, 1.0]
    assert shared.tolist() == [2.0, 2.0]


def test_numpy_of_a_tensor_that_needs_gradients():
    x = paddle.to_tensor([1.0], stop_gradient=False)
    assert (x * 3).numpy().tolist() == [3.0]


def test_dlpack_both_ways():
    x = paddle.to_tensor([1.0, 2.0])
    array = np.from_dlpack(x)
    y = paddle.from_dlpack(torch.arange(3.0))
    again = paddle.from_dlpack(paddle.to_dlpack(x))
    again.add_(paddle.ones([2]))
    assert array.tolist() == [2.0, 3.0]
    assert y.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="from_dlpack"):
        paddle.from_dlpack([1.0])


def test_operators_between_arrays_and_tensors_give_tensors():
    x = paddle.ones([2], "float64")
    for result in (np.ones(2) + x, x + np.ones(2), np.float64(2) * x):
        assert isinstance(result, paddle.Tensor)
    assert (np.float64(2) * paddle.ones([2])).dtype == paddle.float32
