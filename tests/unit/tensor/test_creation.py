"""What goldens cannot show about making tensors: memory, messages, gradients asked for at once."""

import numpy as np
import pytest
import torch

import paddle


def test_to_tensor_copies():
    array = np.zeros(2, "float32")
    x = paddle.to_tensor(array)
    y = paddle.to_tensor(x)
    array[0] = 1
    x[1] = 2.0
    assert x.tolist() == [0.0, 2.0]
    assert y.tolist() == [0.0, 0.0]


def test_to_tensor_takes_awkward_arrays():
    reversed_, frozen = np.arange(3.0)[::-1], np.arange(3)
    frozen.flags.writeable = False
    assert paddle.to_tensor(reversed_).tolist() == [2.0, 1.0, 0.0]
    assert paddle.to_tensor(frozen).tolist() == [0, 1, 2]
    assert paddle.to_tensor(np.arange(3).astype(">i4")).dtype is paddle.int32
    assert paddle.to_tensor(torch.ones(2)).tolist() == [1.0, 1.0]


def test_bfloat16_bits():
    x = paddle.ones([2], "bfloat16")
    assert x.numpy().dtype == np.uint16
    assert paddle.to_tensor(x.numpy()).dtype is paddle.bfloat16
    assert paddle.to_tensor([x[0], x[1]]).dtype is paddle.bfloat16


def test_requires_grad_device_and_out():
    target = paddle.zeros([2])
    alias = target.reshape([1, 2])
    assert paddle.ones([2], out=target) is target
    assert alias.tolist() == [[1.0, 1.0]]
    for x in (
        paddle.zeros([2], requires_grad=True),
        paddle.full_like(target, 3.0, requires_grad=True),
        paddle.arange(2.0, device="cpu", requires_grad=True),
        paddle.eye(2, requires_grad=True),
        paddle.empty_like(target, requires_grad=True),
    ):
        assert not x.stop_gradient
        assert x.place.is_cpu_place()


def test_assign_into_a_parameter():
    weight = paddle.create_parameter([2], "float32")
    raw = weight.raw
    with paddle.no_grad():
        paddle.assign(paddle.to_tensor([1.0, 2.0]), weight)
    assert weight.raw is raw
    assert weight.tolist() == [1.0, 2.0]
    assert not weight.stop_gradient
    with pytest.raises(ValueError, match="Leaf Tensor"):
        paddle.assign(paddle.to_tensor([1.0, 2.0]), weight)


def test_diag_embed_is_differentiable():
    x = paddle.ones([2, 3], requires_grad=True)
    (paddle.diag_embed(x) * 2).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paddle.zeros("ab"), "zeros: the shape must be an int"),
        (lambda: paddle.zeros([2.5]), "zeros: expected an integer, but received 2.5"),
        (lambda: paddle.full([2], object()), "full: fill_value must be a number or a Tensor"),
        (lambda: paddle.zeros([1], "flaot32"), "Did you mean 'float32'"),
        (lambda: paddle.eye(2, -1), "num_columns should be a non-negative int"),
        (lambda: paddle.to_tensor({"a": 1}), "can't construct a Tensor from dict"),
        (lambda: paddle.assign("a"), "assign: x must be"),
        (lambda: paddle.meshgrid(paddle.ones([2, 2])), r"input 0 has shape \[2, 2\]"),
    ],
)
def test_messages_name_the_call_and_the_value(call, words):
    with pytest.raises(ValueError, match=words):
        call()
