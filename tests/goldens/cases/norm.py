"""Normalisation: values, gradients, running statistics, layouts."""

import numpy as np

from goldens.harness import Cases

cases = Cases("norm")

# Means and variances are summed in another order than Paddle's, and divided by afterwards.
RTOL = 2e-5


def op(name, fn, inputs, rtol=RTOL, **kwargs):
    cases.op(name, fn, inputs, rtol=rtol, **kwargs)


def _run(paddle, d, net, shape, dtype="float32", has_gradients=True):
    """Train twice, then evaluate: outputs, gradients, state."""
    for _, p in sorted(net.named_parameters()):
        if not p.stop_gradient:
            p.set_value(d.normal(*p.shape).astype(dtype))
    outs, grads = [], None
    for step in range(3):
        if step == 2:
            grads = {n: p.grad for n, p in sorted(net.named_parameters())}
            net.eval()
        x = paddle.to_tensor(d.normal(*shape).astype(dtype) * 2 + 1, stop_gradient=False)
        y = net(x)
        # Weights that differ: the sum of squares of normalised values alone has no gradient.
        weight = paddle.to_tensor(
            np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype(dtype)
        )
        (y * y * weight).sum().backward()
        outs += [y, x.grad] if has_gradients else [y]
    state = dict(net.state_dict().items())
    return {
        "outs": outs,
        "grads": grads if has_gradients else None,
        "state": state,
        "repr": repr(net),
    }


def layer(name, make, shape, rtol=RTOL, **kwargs):
    @cases.add(name, rtol=rtol)
    def run(paddle, d):
        return _run(paddle, d, make(paddle), shape, **kwargs)


layer("BatchNorm1D 2d", lambda p: p.nn.BatchNorm1D(3), (4, 3))
layer("BatchNorm1D 3d", lambda p: p.nn.BatchNorm1D(3), (4, 3, 5))
layer("BatchNorm1D nlc", lambda p: p.nn.BatchNorm1D(3, data_format="NLC"), (4, 5, 3))
layer("BatchNorm2D", lambda p: p.nn.BatchNorm2D(3), (2, 3, 4, 3))
layer(
    "BatchNorm2D momentum", lambda p: p.nn.BatchNorm2D(3, momentum=0.3, epsilon=1e-3), (2, 3, 4, 3)
)
layer("BatchNorm2D nhwc", lambda p: p.nn.BatchNorm2D(3, data_format="NHWC"), (2, 4, 3, 3))
layer(
    "BatchNorm2D no affine",
    lambda p: p.nn.BatchNorm2D(3, weight_attr=False, bias_attr=False),
    (2, 3, 4, 3),
)
# Here Paddle gives the weight no gradient.
layer(
    "BatchNorm2D no bias",
    lambda p: p.nn.BatchNorm2D(3, bias_attr=False),
    (2, 3, 4, 3),
    has_gradients=False,
)
layer("BatchNorm2D global", lambda p: p.nn.BatchNorm2D(3, use_global_stats=True), (2, 3, 4, 3))
# In evaluation on the batch's statistics Paddle's gradient uses the running ones, which its forward
# did not.
layer(
    "BatchNorm2D batch",
    lambda p: p.nn.BatchNorm2D(3, use_global_stats=False),
    (2, 3, 4, 3),
    has_gradients=False,
)
layer("BatchNorm3D", lambda p: p.nn.BatchNorm3D(2), (2, 2, 3, 2, 2))
layer("BatchNorm3D ndhwc", lambda p: p.nn.BatchNorm3D(2, data_format="NDHWC"), (2, 3, 2, 2, 2))
layer("BatchNorm", lambda p: p.nn.BatchNorm(3), (2, 3, 4, 3))
layer("BatchNorm relu", lambda p: p.nn.BatchNorm(3, act="relu", momentum=0.5), (2, 3, 4, 3))
layer("BatchNorm is_test", lambda p: p.nn.BatchNorm(3, is_test=True), (2, 3, 4, 3))
layer(
    "BatchNorm use_global_stats", lambda p: p.nn.BatchNorm(3, use_global_stats=True), (2, 3, 4, 3)
)
layer(
    "BatchNorm trainable_statistics",
    lambda p: p.nn.BatchNorm(3, is_test=True, trainable_statistics=True),
    (2, 3, 4, 3),
    has_gradients=False,
)
layer("BatchNorm nhwc", lambda p: p.nn.BatchNorm(3, data_layout="NHWC"), (2, 4, 3, 3))
layer("LayerNorm", lambda p: p.nn.LayerNorm(6), (4, 6))
layer("LayerNorm two axes", lambda p: p.nn.LayerNorm([3, 4]), (2, 3, 4))
layer("LayerNorm epsilon", lambda p: p.nn.LayerNorm([4], 1e-3), (2, 3, 4))
layer(
    "LayerNorm no affine",
    lambda p: p.nn.LayerNorm(4, weight_attr=False, bias_attr=False),
    (2, 3, 4),
)
layer("LayerNorm no bias", lambda p: p.nn.LayerNorm([3, 4], bias_attr=False), (2, 3, 4))
layer("GroupNorm", lambda p: p.nn.GroupNorm(2, 4), (2, 4, 3, 3))
layer("GroupNorm 3d", lambda p: p.nn.GroupNorm(2, 4), (2, 4, 5))
layer("GroupNorm nhwc", lambda p: p.nn.GroupNorm(2, 4, data_format="NHWC"), (2, 3, 3, 4))
# Without a bias Paddle's gradient of group_norm leaves out the part of the mean.
layer(
    "GroupNorm no affine",
    lambda p: p.nn.GroupNorm(4, 4, weight_attr=False, bias_attr=False),
    (2, 4, 3, 3),
    has_gradients=False,
)
layer("InstanceNorm1D", lambda p: p.nn.InstanceNorm1D(3), (2, 3, 6))
layer("InstanceNorm2D", lambda p: p.nn.InstanceNorm2D(3, epsilon=1e-3), (2, 3, 4, 3))
layer(
    "InstanceNorm2D no affine",
    lambda p: p.nn.InstanceNorm2D(3, weight_attr=False, bias_attr=False),
    (2, 3, 4, 3),
)
layer("InstanceNorm3D", lambda p: p.nn.InstanceNorm3D(2), (2, 2, 3, 2, 2))
layer("LocalResponseNorm", lambda p: p.nn.LocalResponseNorm(3, alpha=0.1), (2, 5, 3, 3))


@cases.add("InstanceNorm1D one element each")
def _(paddle, d):
    return paddle.nn.InstanceNorm1D(3)(paddle.to_tensor(d.normal(2, 3)))


@cases.add("BatchNorm one element per channel passes")
def _(paddle, d):
    net = paddle.nn.BatchNorm1D(3)
    x = paddle.to_tensor(d.normal(1, 3), stop_gradient=False)
    y = net(x)
    (y * y).sum().backward()
    return y, x.grad, net._mean, net._variance


@cases.add("parameter names and trainability")
def _(paddle, d):
    nn = paddle.nn
    with paddle.utils.unique_name.guard():
        nets = [
            nn.BatchNorm2D(3),
            nn.BatchNorm1D(3, name="named"),
            nn.BatchNorm(3, moving_mean_name="m", moving_variance_name="v"),
            nn.LayerNorm([3, 4]),
            nn.GroupNorm(1, 2),
            nn.InstanceNorm2D(2),
            nn.SpectralNorm([2, 3]),
        ]
        return [
            [n, p.name, str(p.stop_gradient), str(list(p.shape))]
            for net in nets
            for n, p in net.named_parameters()
        ]


@cases.add("batch_norm updates in place", rtol=RTOL)
def _(paddle, d):
    F = paddle.nn.functional
    mean, var = paddle.to_tensor(d.normal(3)), paddle.to_tensor(d.uniform(3, low=0.5))
    x = paddle.to_tensor(d.normal(5, 3))
    outs = [
        F.batch_norm(x, mean, var),
        F.batch_norm(x, mean, var, training=True, momentum=0.8),
        F.batch_norm(x, mean, var, training=True, use_global_stats=True),
        F.batch_norm(x, mean, var, training=False, use_global_stats=False),
    ]
    return outs, mean, var


# Paddle keeps momentum and epsilon in float32.
layer(
    "BatchNorm2D float64",
    lambda p: _with_default(p, "float64", lambda: p.nn.BatchNorm2D(3)),
    (2, 3, 4, 3),
    1e-6,
    dtype="float64",
)


def _with_default(paddle, dtype, make):
    old = paddle.get_default_dtype()
    paddle.set_default_dtype(dtype)
    try:
        return make()
    finally:
        paddle.set_default_dtype(old)


op("layer_norm plain", lambda p, x: p.nn.functional.layer_norm(x, 5), lambda d: d.normal(3, 5))
op(
    "layer_norm affine",
    lambda p, x, w, b: p.nn.functional.layer_norm(x, (3, 5), w, b),
    lambda d: (d.normal(2, 3, 5), d.normal(15), d.normal(15)),
)
op(
    "layer_norm weight only",
    lambda p, x, w: p.nn.functional.layer_norm(x, 5, w),
    lambda d: (d.normal(3, 5), d.normal(5)),
)
op(
    "group_norm",
    lambda p, x: p.nn.functional.group_norm(x, 3),
    lambda d: d.normal(2, 6, 4),
    grad=False,
)
op(
    "group_norm affine",
    lambda p, x, w, b: p.nn.functional.group_norm(x, 3, 1e-3, w, b),
    lambda d: (d.normal(2, 6, 2, 2), d.normal(6), d.normal(6)),
)
op(
    "group_norm 2d",
    lambda p, x: p.nn.functional.group_norm(x, 2),
    lambda d: d.normal(3, 6),
    grad=False,
)
op(
    "instance_norm",
    lambda p, x, w, b: p.nn.functional.instance_norm(x, weight=w, bias=b, eps=1e-3),
    lambda d: (d.normal(2, 3, 4), d.normal(3), d.normal(3)),
)
op("normalize", lambda p, x: p.nn.functional.normalize(x), lambda d: d.normal(3, 4))
op(
    "normalize axis 0 p 3",
    lambda p, x: p.nn.functional.normalize(x, 3, 0),
    lambda d: d.normal(3, 4),
)
op(
    "normalize p 1 last",
    lambda p, x: p.nn.functional.normalize(x, p=1, axis=-1),
    lambda d: d.normal(2, 3, 4),
)
op(
    "normalize p 1.5",
    lambda p, x: p.nn.functional.normalize(x, p=1.5, axis=2),
    lambda d: d.normal(2, 3, 4),
)
op(
    "normalize inf",
    lambda p, x: p.nn.functional.normalize(x, p=float("inf")),
    lambda d: d.normal(3, 4),
)
op(
    "normalize small",
    lambda p, x: p.nn.functional.normalize(x, epsilon=10.0),
    lambda d: d.normal(3, 4),
)
op("normalize vector", lambda p, x: p.nn.functional.normalize(x, axis=0), lambda d: d.normal(4))
op(
    "local_response_norm",
    lambda p, x: p.nn.functional.local_response_norm(x, 3, 0.1),
    lambda d: d.normal(2, 5, 3, 3),
)
op(
    "local_response_norm even",
    lambda p, x: p.nn.functional.local_response_norm(x, 4, 0.5, 0.5, 2.0),
    lambda d: d.normal(2, 5, 3),
)
op(
    "local_response_norm nhwc",
    lambda p, x: p.nn.functional.local_response_norm(x, 3, 0.1, data_format="NHWC"),
    lambda d: d.normal(2, 3, 3, 5),
)
op(
    "local_response_norm 5d",
    lambda p, x: p.nn.functional.local_response_norm(x, 2, 0.1),
    lambda d: d.normal(1, 4, 2, 2, 2),
)


# Values only: what Paddle gives as the gradient is not the derivative of its value.
def spectral(name, shape, **kwargs):
    @cases.add(name, rtol=RTOL)
    def run(paddle, d):
        net = paddle.nn.SpectralNorm(list(shape), **kwargs)
        net.weight_u.set_value(d.normal(*net.weight_u.shape))
        net.weight_v.set_value(d.normal(*net.weight_v.shape))
        return net(paddle.to_tensor(d.normal(*shape))), net.weight_u, net.weight_v


spectral("SpectralNorm", (3, 4), power_iters=2)
spectral("SpectralNorm dim 1", (3, 4, 2, 2), dim=1, power_iters=3, eps=1e-6)
spectral("SpectralNorm no steps", (3, 4), power_iters=0)

cases.error("layer_norm shape", lambda p: p.nn.functional.layer_norm(p.ones([2, 3]), [4]))
cases.error("layer_norm rank", lambda p: p.nn.functional.layer_norm(p.ones([3]), [2, 3]))
cases.error("layer_norm type", lambda p: p.nn.functional.layer_norm(p.ones([3]), "3"))
cases.error("group_norm indivisible", lambda p: p.nn.functional.group_norm(p.ones([1, 3, 2, 2]), 2))
cases.error(
    "group_norm layout",
    lambda p: p.nn.functional.group_norm(p.ones([1, 2, 2, 2]), 2, data_format="CHWN"),
)
cases.error("BatchNorm1D rank", lambda p: p.nn.BatchNorm1D(3)(p.ones([2, 3, 4, 4])))
cases.error("BatchNorm2D rank", lambda p: p.nn.BatchNorm2D(3)(p.ones([2, 3])))
cases.error("BatchNorm3D rank", lambda p: p.nn.BatchNorm3D(3)(p.ones([2, 3])))
cases.error("BatchNorm2D channels", lambda p: p.nn.BatchNorm2D(3)(p.ones([2, 4, 2, 2])))
cases.error(
    "BatchNorm2D layout", lambda p: p.nn.BatchNorm2D(3, data_format="NCL")(p.ones([2, 3, 2, 2]))
)
cases.error(
    "batch_norm rank",
    lambda p: p.nn.functional.batch_norm(p.ones([3]), p.ones([3]), p.ones([3]), training=True),
)
cases.error(
    "batch_norm layout",
    lambda p: p.nn.functional.batch_norm(
        p.ones([2, 3]), p.ones([3]), p.ones([3]), data_format="CN"
    ),
)
cases.error("InstanceNorm2D rank", lambda p: p.nn.InstanceNorm2D(3)(p.ones([2, 3, 4])))
cases.error("InstanceNorm2D attrs", lambda p: p.nn.InstanceNorm2D(3, weight_attr=False))
cases.error(
    "local_response_norm rank", lambda p: p.nn.functional.local_response_norm(p.ones([2, 3]), 3)
)
cases.error("SpectralNorm empty", lambda p: p.nn.SpectralNorm([0, 3]))
