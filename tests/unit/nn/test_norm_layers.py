"""Normalisation beyond golden data: synchronisation hook, conversion, gradients where Paddle's are
wrong.
"""

import numpy as np
import pytest

import paddle
from paddle import nn


def _numeric_gradient(function, x, eps=1e-6):
    grad = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[index] = eps
        grad[index] = (function(x + step) - function(x - step)) / (2 * eps)
    return grad


def _check_gradient(forward, shape):
    rng = np.random.RandomState(0)
    value, weight = rng.randn(*shape), rng.randn(*shape)

    def loss(array):
        return float((forward(paddle.to_tensor(array)) * paddle.to_tensor(weight)).sum())

    x = paddle.to_tensor(value, stop_gradient=False)
    (forward(x) * paddle.to_tensor(weight)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), _numeric_gradient(loss, value), atol=1e-6)


def test_gradient_of_group_norm_without_bias():
    _check_gradient(lambda x: paddle.nn.functional.group_norm(x, 2), (2, 4, 3))


def test_gradient_of_spectral_norm():
    net = nn.SpectralNorm([3, 4], power_iters=0, dtype="float64")
    _check_gradient(net, (3, 4))


def test_gradient_of_batch_norm_on_batch_statistics_in_evaluation():
    mean, variance = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    _check_gradient(
        lambda x: paddle.nn.functional.batch_norm(x, mean, variance, use_global_stats=False), (4, 3)
    )


def test_batch_norm_without_bias_trains_its_weight():
    net = nn.BatchNorm1D(3, bias_attr=False)
    net(paddle.rand([4, 3])).square().sum().backward()
    assert net.weight.grad is not None


def test_running_variance_is_the_biased_one_and_momentum_what_is_kept():
    net = nn.BatchNorm1D(1, momentum=0.75)
    net(paddle.to_tensor([[0.0], [2.0]]))
    assert net._mean.tolist() == [0.25]
    assert net._variance.tolist() == [1.0]
    net(paddle.to_tensor([[0.0], [4.0]]))
    assert net._variance.tolist() == [0.75 + 0.25 * 4]


def test_running_statistics_keep_their_identity():
    net = nn.BatchNorm1D(2)
    mean, memory = net._mean, net._mean.data_ptr()
    net(paddle.rand([3, 2]))
    assert net._mean is mean
    assert mean.data_ptr() == memory


def test_sync_batch_norm_alone_is_batch_norm():
    x = paddle.rand([4, 3, 2, 2])
    one, other = nn.SyncBatchNorm(3), nn.BatchNorm2D(3)
    assert one(x).tolist() == other(x).tolist()
    assert one._variance.tolist() == other._variance.tolist()


@pytest.fixture
def reduce_moments():
    """Install a reduction of statistics for one test."""

    def install(fn):
        nn.SyncBatchNorm.reduce_moments = fn

    yield install
    nn.SyncBatchNorm.reduce_moments = None


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_sync_batch_norm_over_two_shards_equals_one_batch(reduce_moments, layout):
    rng = np.random.RandomState(3)
    shape = (4, 3, 2, 2) if layout == "NCHW" else (4, 2, 2, 3)
    value, scale = rng.randn(*shape).astype("float32"), rng.randn(*shape).astype("float32")
    whole = nn.BatchNorm2D(3, data_format=layout)
    x = paddle.to_tensor(value, stop_gradient=False)
    expected = whole(x)
    (expected * paddle.to_tensor(scale)).sum().backward()

    # Both shards in one process: the first pass collects their moments, the second adds the other
    # shard's.
    halves = [paddle.to_tensor(part, stop_gradient=False) for part in (value[:2], value[2:])]
    collected = []
    reduce_moments(lambda m: collected.append(m) or m)
    scratch = nn.SyncBatchNorm(3, data_format=layout)
    for half in halves:
        scratch(half)
    total = collected[0] + collected[1]
    reduce_moments(lambda m: total)
    net = nn.SyncBatchNorm(3, data_format=layout)
    outs = [net(half) for half in halves]
    loss = sum(
        (out * paddle.to_tensor(part)).sum()
        for out, part in zip(outs, (scale[:2], scale[2:]), strict=True)
    )
    loss.backward()
    np.testing.assert_allclose(
        np.concatenate([o.numpy() for o in outs]), expected.numpy(), atol=1e-5
    )
    np.testing.assert_allclose(
        np.concatenate([h.grad.numpy() for h in halves]), x.grad.numpy(), atol=1e-5
    )


def test_sync_moments_update_running_statistics(reduce_moments):
    reduce_moments(lambda m: m)
    x = paddle.rand([4, 3, 2, 2])
    one, other = nn.SyncBatchNorm(3), nn.BatchNorm2D(3)
    one(x), other(x)
    np.testing.assert_allclose(one._mean.numpy(), other._mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(one._variance.numpy(), other._variance.numpy(), rtol=1e-5)


def test_evaluation_does_not_reduce(reduce_moments):
    def fail(moments):
        raise AssertionError("reduced in evaluation")

    reduce_moments(fail)
    net = nn.SyncBatchNorm(3)
    net.eval()
    assert net(paddle.rand([2, 3, 2, 2])).shape == [2, 3, 2, 2]


def test_convert_sync_batchnorm_shares_parameters_and_keeps_the_rest():
    net = nn.Sequential(
        nn.Conv2D(3, 4, 1), nn.BatchNorm2D(4), nn.Sequential(nn.BatchNorm2D(4, momentum=0.5))
    )
    weights = [net[1].weight, net[2][0]._variance]
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert converted is net
    assert isinstance(net[1], nn.SyncBatchNorm)
    assert isinstance(net[2][0], nn.SyncBatchNorm)
    assert net[2][0]._momentum == 0.5
    assert net[1].weight is weights[0]
    assert net[2][0]._variance is weights[1]


def test_convert_sync_batchnorm_replaces_a_bare_layer():
    layer = nn.BatchNorm1D(3)
    assert isinstance(nn.SyncBatchNorm.convert_sync_batchnorm(layer), nn.SyncBatchNorm)


def test_convert_sync_batchnorm_keeps_fixed_statistics_fixed(reduce_moments):
    def fail(moments):
        raise AssertionError("reduced although the statistics are fixed")

    reduce_moments(fail)
    layer = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2D(3, use_global_stats=True))
    layer(paddle.rand([2, 3, 2, 2]))
    assert layer._mean.tolist() == [0.0] * 3


def test_sync_batch_norm_without_attributes_has_frozen_parameters():
    net = nn.SyncBatchNorm(3, weight_attr=False, bias_attr=False)
    assert net.weight.stop_gradient
    assert net.bias.stop_gradient


def test_unknown_activation_is_refused_at_once():
    with pytest.raises(ValueError, match="act='rellu'"):
        nn.BatchNorm(3, act="rellu")


def test_rms_norm_returns_the_inverse_root_too():
    x = np.random.RandomState(0).randn(2, 3, 4).astype("float32")
    w = np.random.RandomState(1).randn(4).astype("float32")
    out, inverse = paddle.nn.functional.rms_norm(
        paddle.to_tensor(x), [4], paddle.to_tensor(w), eps=1e-3
    )
    expected = 1 / np.sqrt((x * x).mean(-1) + 1e-3)
    np.testing.assert_allclose(inverse.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), x * expected[..., None] * w, rtol=1e-5)


def test_normalize_writes_into_out():
    out = paddle.zeros([1, 2])
    result = paddle.nn.functional.normalize(paddle.to_tensor([[3.0, 4.0]]), out=out)
    assert result is out
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8]], rtol=1e-6)


def test_private_base_is_reachable_for_isinstance():
    from paddle.nn.layer.norm import _BatchNormBase

    assert isinstance(nn.BatchNorm2D(1), _BatchNormBase)
