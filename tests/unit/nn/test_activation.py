"""Randomness, in-place forms and double backward of activations."""

import numpy as np
import pytest
import torch

import paddle
import paddle.nn.functional as F


def test_rrelu_draws_slopes_within_its_bounds():
    paddle.seed(7)
    out = F.rrelu(paddle.full([2000], -1.0), 0.1, 0.3).numpy()
    assert out.min() >= -0.3
    assert out.max() <= -0.1
    assert abs(out.mean() + 0.2) < 0.01
    assert len(np.unique(out)) > 1000


def test_rrelu_layer_is_deterministic_in_eval():
    layer = paddle.nn.RReLU(0.1, 0.3)
    layer.eval()
    np.testing.assert_allclose(layer(paddle.to_tensor([-1.0, 2.0])).numpy(), [-0.2, 2.0], rtol=1e-6)
    assert "training=False" in repr(layer)


def test_gumbel_softmax_follows_the_logits():
    paddle.seed(3)
    logits = paddle.log(paddle.to_tensor([[0.7, 0.2, 0.1]])).expand([3000, 3])
    picks = F.gumbel_softmax(logits, hard=True).numpy()
    assert set(np.unique(picks)) == {0.0, 1.0}
    np.testing.assert_allclose(picks.mean(0), [0.7, 0.2, 0.1], atol=0.03)


def test_hard_gumbel_softmax_has_the_gradient_of_the_soft_one():
    x = paddle.to_tensor([[0.3, 0.2, 0.5]], stop_gradient=False)
    (F.gumbel_softmax(x, hard=True) * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
    assert float(x.grad.abs().sum()) > 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_leaky_relu_has_slope_one_at_zero(dtype):
    x = paddle.to_tensor([-1.0, -1e-4, 0.0, 1e-4], dtype=dtype, stop_gradient=False)
    F.leaky_relu(x, 0.25).sum().backward()
    assert x.grad.astype("float32").tolist() == [0.25, 0.25, 1.0, 1.0]


def test_leaky_relu_can_be_differentiated_twice():
    x = paddle.to_tensor([-2.0, 3.0], stop_gradient=False)
    (first,) = paddle.grad(F.leaky_relu(x * x * x, 0.5), [x], create_graph=True)
    (second,) = paddle.grad(first, [x])
    assert second.tolist() == [-6.0, 18.0]  # 0.5 * 6x and 6x


def test_silu_in_place():
    x = paddle.to_tensor([0.0, 1.0])
    assert F.silu(x, inplace=True) is x
    np.testing.assert_allclose(x.numpy(), [0.0, 1 / (1 + np.exp(-1.0))], rtol=1e-6)
    assert paddle.nn.Silu(inplace=True)(x) is x


def test_relu_in_place_keeps_the_gradient():
    x = paddle.to_tensor([-1.0, 2.0], stop_gradient=False)
    y = x * 3.0
    F.relu_(y)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_prelu_parameter_is_named_and_trained():
    layer = paddle.nn.PReLU(2, init=0.5)
    assert list(layer.state_dict()) == ["_weight"]
    layer(paddle.to_tensor([[-1.0, -3.0]])).sum().backward()
    assert layer._weight.grad.tolist() == [-1.0, -3.0]


def test_relu_shows_nan_instead_of_hiding_it():
    assert np.isnan(F.relu(paddle.to_tensor([float("nan")])).numpy()).all()


def test_activations_infer_shapes_on_the_meta_device():
    from argosy.ops.nn import activation as ops

    x = torch.empty(2, 4, 1, 1, device="meta")
    assert ops.maxout(x, 2).shape == (2, 2, 1, 1)
    assert ops.hardshrink(x, 0.5).shape == x.shape
    assert ops.leaky_relu(x.requires_grad_(), 0.1).shape == x.shape
