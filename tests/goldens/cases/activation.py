"""Activation functions and layers."""

import numpy as np

from goldens.harness import Cases

cases = Cases("activation")

# Exponentials and error functions come from other libraries on the two sides.
CLOSE = 1e-5

PLAIN = (
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "log_sigmoid", "logsigmoid", "log_softmax", "mish",
    "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign",
    "swish", "tanh", "tanhshrink", "thresholded_relu",
    "glu", "swiglu",
)  # fmt: skip
KINKS = np.array([-6.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0], "float32")

for name in PLAIN:
    cases.op(
        name,
        lambda paddle, x, f=name: getattr(paddle.nn.functional, f)(x),
        lambda d: d.normal(3, 4) * 3,
        rtol=CLOSE,
    )
    cases.op(
        f"{name}/kinks",
        lambda paddle, x, f=name: getattr(paddle.nn.functional, f)(x),
        lambda d: KINKS,
        rtol=CLOSE,
    )
for name in PLAIN:
    if name not in ("glu", "swiglu", "log_softmax", "softmax"):
        cases.op(f"{name}/0d_empty", lambda paddle, x, y,
            f=name: [getattr(paddle.nn.functional, f)(x), getattr(paddle.nn.functional, f)(y)],
                 lambda d: (d.normal(), d.normal(0, 3)), rtol=CLOSE)  # fmt: skip


def functional(name, fn, inputs=lambda d: d.normal(3, 4) * 3, **options):
    cases.op(
        name,
        lambda paddle, *tensors: fn(paddle.nn.functional, *tensors),
        inputs,
        **{"rtol": CLOSE, **options},
    )


functional("elu/alpha", lambda F, x: [F.elu(x, 2.0), F.elu(x, 0.2), F.elu(x, -1.0)])
functional("elu/alpha_at_kinks", lambda F, x: [F.elu(x, 2.0), F.elu(x, 0.2)], lambda d: KINKS)
functional("celu/alpha", lambda F, x: [F.celu(x, 2.0), F.celu(x, 0.5)])
functional("selu/constants", lambda F, x: F.selu(x, scale=1.5, alpha=2.0))
functional(
    "gelu/approximate",
    lambda F, x: [F.gelu(x, approximate=True), F.gelu(x, "tanh"), F.gelu(x, "none")],
)
functional(
    "leaky_relu/slopes",
    lambda F, x: [F.leaky_relu(x, s) for s in (0.2, 0.0, 2.0, -1.0)],
    lambda d: KINKS,
)
functional("hardsigmoid/line", lambda F, x: F.hardsigmoid(x, slope=0.2, offset=0.4))
functional("hardtanh/bounds", lambda F, x: F.hardtanh(x, -2.0, 3.0), lambda d: KINKS)
functional(
    "hardshrink/threshold",
    lambda F, x: [F.hardshrink(x, 1.0), F.hardshrink(x, 0.0)],
    lambda d: KINKS,
)
functional(
    "softshrink/threshold",
    lambda F, x: [F.softshrink(x, 1.0), F.softshrink(x, 0.0)],
    lambda d: KINKS,
)
functional("softplus/beta", lambda F, x: F.softplus(x, beta=2.0, threshold=3.0))
functional("thresholded_relu/value", lambda F, x: F.thresholded_relu(x, 0.5, -1.0), lambda d: KINKS)
functional(
    "prelu/one",
    lambda F, x, w: F.prelu(x, w),
    lambda d: (d.normal(2, 3), np.array([0.25], "float32")),
)
functional(
    "prelu/channels", lambda F, x, w: F.prelu(x, w), lambda d: (d.normal(2, 3, 2, 2), d.uniform(3))
)
functional(
    "prelu/channels_last",
    lambda F, x, w: F.prelu(x, w, data_format="NHWC"),
    lambda d: (d.normal(2, 2, 2, 3), d.uniform(3)),
)
functional("prelu/2d", lambda F, x, w: F.prelu(x, w), lambda d: (d.normal(4, 3), d.uniform(3)))
functional(
    "prelu/at_zero", lambda F, x, w: F.prelu(x, w), lambda d: (KINKS, np.array([0.25], "float32"))
)
functional("rrelu/evaluation", lambda F, x: F.rrelu(x, 0.1, 0.3, training=False), lambda d: KINKS)
functional("rrelu/equal_bounds", lambda F, x: F.rrelu(x, 0.2, 0.2, training=True), lambda d: KINKS)
functional("maxout", lambda F, x: F.maxout(x, 2), lambda d: d.distinct(2, 4, 2, 3))
functional(
    "maxout/last_axis", lambda F, x: F.maxout(x, 2, axis=-1), lambda d: d.distinct(1, 2, 3, 4)
)
functional("maxout/ties", lambda F, x: F.maxout(x, 2), lambda d: np.ones([1, 4, 1, 2], "float32"))
functional("glu/axis", lambda F, x: F.glu(x, axis=0), lambda d: d.normal(4, 3))
functional("swiglu/two", lambda F, x, y: F.swiglu(x, y), lambda d: (d.normal(2, 3), d.normal(2, 3)))
functional(
    "softmax/axis",
    lambda F, x: [F.softmax(x, axis=0), F.softmax(x, axis=-2), F.softmax(x, 1)],
    lambda d: d.normal(2, 3, 2),
)
functional("softmax/dtype", lambda F, x: F.softmax(x, dtype="float64"))
functional(
    "softmax/integers_with_dtype",
    lambda F, x: F.softmax(x, dtype="float32"),
    lambda d: d.integers(3),
)
functional(
    "softmax/large",
    lambda F, x: F.softmax(x),
    lambda d: np.array([[1000.0, 999.0, -1000.0], [-80.0, 0.0, 1.0]], "float32"),
)
functional(
    "softmax/masked",
    lambda F, x: F.softmax(x),
    lambda d: np.array([[1.0, -np.inf, 0.5]], "float32"),
)
functional("softmax/0d", lambda F, x: [F.softmax(x), F.log_softmax(x)], lambda d: d.normal())
functional(
    "log_softmax/axis",
    lambda F, x: [F.log_softmax(x, axis=0), F.log_softmax(x, axis=-2)],
    lambda d: d.normal(2, 3, 2),
)
functional("log_softmax/dtype", lambda F, x: F.log_softmax(x, dtype="float64"))
functional("float64", lambda F, x: [getattr(F, f)(x)
    for f in ("relu", "gelu", "sigmoid", "silu", "mish", "softplus", "elu", "softmax")],
           lambda d: d.normal(3, 4, dtype="float64"), rtol=1e-7)  # fmt: skip


@cases.add("top_level", rtol=CLOSE)
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3))
    return [x.sigmoid(), x.tanh(), paddle.nn.functional.sigmoid(x), paddle.tanh(x)]


@cases.add("top_level/softmax_takes_another_axis", rtol=CLOSE)
def _(paddle, draw):
    tensors = [
        paddle.to_tensor(draw.normal(*shape)) for shape in ((3,), (2, 3), (2, 3, 2), (1, 2, 3, 2))
    ]
    return (
        [paddle.softmax(x) for x in tensors]
        + [x.softmax(-1) for x in tensors]
        + [tensors[1].softmax(0, "float64")]
    )


@cases.add("inplace", rtol=CLOSE)
def _(paddle, draw):
    start = draw.normal(2, 3)
    results = {}
    for name in (
        "relu_",
        "elu_",
        "hardtanh_",
        "leaky_relu_",
        "softmax_",
        "tanh_",
        "thresholded_relu_",
    ):
        x = paddle.to_tensor(start)
        results[name] = [getattr(paddle.nn.functional, name)(x) is x, x]
    return results


@cases.add("inplace/gradient", rtol=CLOSE)
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(2, 3), stop_gradient=False)
    y = x * 2.0
    paddle.nn.functional.relu_(y)
    (y * y).sum().backward()
    return [y, x.grad]


@cases.add("gumbel_softmax/shape_and_sum")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(4, 5))
    soft, hard = (
        paddle.nn.functional.gumbel_softmax(x),
        paddle.nn.functional.gumbel_softmax(x, temperature=0.5, hard=True, axis=0),
    )
    return [soft.sum(-1), list(soft.shape), hard.sum(0), hard.max()]


# -- layers
# --------------------------------------------------------------------------------------------------

LAYERS = {
    "CELU": {"alpha": 2.0}, "ELU": {"alpha": 0.5}, "GELU": {"approximate": True},
    "GLU": {"axis": 0}, "Hardshrink": {"threshold": 1.0}, "Hardsigmoid": {},
    "Hardswish": {}, "Hardtanh": {"min": -2.0, "max": 0.5}, "LeakyReLU": {"negative_slope": 0.1},
    "LogSigmoid": {}, "LogSoftmax": {"axis": 0}, "Mish": {},
    "PReLU": {"num_parameters": 4, "init": 0.1}, "ReLU": {}, "ReLU6": {},
    "SELU": {"scale": 1.5, "alpha": 2.0}, "Sigmoid": {}, "Silu": {},
    "Softmax": {"axis": 0}, "Softplus": {"beta": 2, "threshold": 10},
    "Softshrink": {"threshold": 1.0}, "Softsign": {}, "Swish": {}, "Tanh": {},
    "Tanhshrink": {}, "ThresholdedReLU": {"threshold": 0.5, "value": 0.1},
}  # fmt: skip

for name, options in LAYERS.items():

    @cases.add(f"layer/{name}", rtol=CLOSE)
    def _(paddle, draw, name=name, options=options):
        layer = getattr(paddle.nn, name)(**options)
        default = None if name in ("GLU",) else getattr(paddle.nn, name)()
        x = paddle.to_tensor(draw.normal(6, 4) * 2, stop_gradient=False)
        out = layer(x)
        (out * out).sum().backward()
        grads = [p.grad for p in layer.parameters()]
        return [
            out,
            x.grad,
            grads,
            repr(layer),
            None if default is None else repr(default),
            list(layer.state_dict()),
        ]


@cases.add("layer/Maxout")
def _(paddle, draw):
    layer = paddle.nn.Maxout(groups=2)
    return [layer(paddle.to_tensor(draw.distinct(1, 4, 2, 2))), repr(layer)]


@cases.add("layer/Softmax2D", rtol=CLOSE)
def _(paddle, draw):
    layer = paddle.nn.Softmax2D()
    return [
        layer(paddle.to_tensor(draw.normal(2, 3, 2, 2))),
        layer(paddle.to_tensor(draw.normal(3, 2, 2))),
        repr(layer),
    ]


@cases.add("layer/RReLU_eval", rtol=CLOSE)
def _(paddle, draw):
    layer = paddle.nn.RReLU(0.1, 0.3)
    layer.eval()
    return [layer(paddle.to_tensor(draw.normal(4))), repr(layer)]


@cases.add("layer/repr_with_name")
def _(paddle, draw):
    nn = paddle.nn
    layers = [
        nn.ReLU(name="a"),
        nn.Softmax(-1, name="b"),
        nn.Silu(name="c"),
        nn.PReLU(name="d"),
        nn.SELU(name="e"),
        nn.Hardtanh(name="f"),
    ]
    return [repr(layer) for layer in layers]


def error(name, fn):
    cases.error(f"error/{name}", lambda paddle: fn(paddle.nn.functional, paddle))


error("softmax_axis", lambda F, p: F.softmax(p.ones([2]), axis=1))
error("glu_odd", lambda F, p: F.glu(p.ones([3])))
error("swiglu_odd", lambda F, p: F.swiglu(p.ones([3])))
error("maxout_rank", lambda F, p: F.maxout(p.ones([2, 4]), 2))
error("maxout_groups", lambda F, p: F.maxout(p.ones([1, 4, 1, 1]), 3))
error("maxout_axis", lambda F, p: F.maxout(p.ones([1, 4, 1, 1]), 2, axis=2))
error("prelu_channels", lambda F, p: F.prelu(p.ones([1, 2, 2]), p.ones([3])))
error("prelu_rank", lambda F, p: F.prelu(p.ones([4]), p.ones([2])))
error("prelu_data_format", lambda F, p: F.prelu(p.ones([1, 2, 2]), p.ones([2]), data_format="CN"))
error("rrelu_order", lambda F, p: F.rrelu(p.ones([2]), 0.5, 0.3))
error("rrelu_range", lambda F, p: F.rrelu(p.ones([2]), -0.5, 0.3))
error("celu_alpha", lambda F, p: F.celu(p.ones([2]), 0.0))
error("selu_scale", lambda F, p: F.selu(p.ones([2]), scale=0.9))
error("selu_alpha", lambda F, p: F.selu(p.ones([2]), alpha=-1.0))
error("softshrink_threshold", lambda F, p: F.softshrink(p.ones([2]), -1.0))
error("gelu_approximate", lambda F, p: F.gelu(p.ones([2]), "sometimes"))
error("gumbel_temperature", lambda F, p: F.gumbel_softmax(p.ones([2]), temperature=0.0))
error("softmax2d_rank", lambda F, p: p.nn.Softmax2D()(p.ones([2, 2])))
error("softmax_integers", lambda F, p: F.softmax(p.to_tensor([1, 2])))
error("gelu_integers", lambda F, p: F.gelu(p.to_tensor([1, 2])))
error("relu_leaf_in_place", lambda F, p: F.relu_(p.to_tensor([1.0], stop_gradient=False)))
