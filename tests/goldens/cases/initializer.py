"""Initialisers: exact values where there is no chance, otherwise statistics of many draws.

Of random ones only mean, deviation and, where the distribution is bounded, extremes of 40,000
values are kept, on a scale of the deviation. The mean of so many draws lies within 0.02 deviations
of its expectation, hence 5e-2.
"""

import numpy as np

from goldens.harness import Cases

cases = Cases("initializer")

SHAPE = (200, 200)
CONV = (40, 20, 5, 10)


def statistics(values, bounded):
    """[mean / std, std, ...] with an offset of one, so that the comparison is relative to the
    deviation.
    """
    flat = np.asarray(values, "float64").reshape(-1)
    std = flat.std() or 1.0
    found = {"mean": 1.0 + flat.mean() / std, "std": flat.std()}
    if bounded:
        found["low"] = flat.min()
        found["high"] = flat.max()
    return found


def made(paddle, initializer, shape=SHAPE, dtype="float32"):
    paddle.seed(7)
    return (
        paddle.create_parameter(list(shape), dtype, default_initializer=initializer)
        .astype("float32")
        .numpy()
    )


def add_random(name, make, shape=SHAPE, bounded=False, dtype="float32"):
    @cases.add(name, rtol=5e-2)
    def _(paddle, draw):
        return statistics(made(paddle, make(paddle.nn.initializer), shape, dtype), bounded)


add_random("uniform", lambda I: I.Uniform(), bounded=True)
add_random("uniform_range", lambda I: I.Uniform(0.5, 2.0), bounded=True)
add_random("normal", lambda I: I.Normal())
add_random("normal_shifted", lambda I: I.Normal(1.5, 0.2))
add_random("normal_half", lambda I: I.Normal(0.0, 0.02), dtype="float16")
add_random("normal_bfloat16", lambda I: I.Normal(0.0, 0.02), dtype="bfloat16")
add_random("uniform_half", lambda I: I.Uniform(), dtype="float16", bounded=True)
add_random("normal_double", lambda I: I.Normal(), dtype="float64")
add_random("truncated", lambda I: I.TruncatedNormal(), bounded=True)
add_random("truncated_narrow", lambda I: I.TruncatedNormal(0.0, 0.02))
add_random("truncated_wide", lambda I: I.TruncatedNormal(0.0, 3.0), bounded=True)
add_random("truncated_bounds", lambda I: I.TruncatedNormal(0.0, 1.0, -1.0, 0.5), bounded=True)
add_random("truncated_beyond", lambda I: I.TruncatedNormal(3.0, 1.0))
for _shape_name, _shape in (("matrix", (100, 400)), ("conv", CONV)):
    add_random(f"xavier_uniform_{_shape_name}", lambda I: I.XavierUniform(), _shape, bounded=True)
    add_random(f"xavier_normal_{_shape_name}", lambda I: I.XavierNormal(), _shape)
    add_random(f"kaiming_uniform_{_shape_name}", lambda I: I.KaimingUniform(), _shape, bounded=True)
    add_random(f"kaiming_normal_{_shape_name}", lambda I: I.KaimingNormal(), _shape)
    add_random(f"kaiming_fan_out_{_shape_name}", lambda I: I.KaimingNormal(mode="fan_out"), _shape)
    add_random(f"orthogonal_{_shape_name}", lambda I: I.Orthogonal(2.0), _shape)
add_random("xavier_given_fans", lambda I: I.XavierNormal(fan_in=10, fan_out=30, gain=2.0))
add_random(
    "xavier_uniform_given_fans",
    lambda I: I.XavierUniform(fan_in=10, fan_out=30, gain=2.0),
    bounded=True,
)
add_random(
    "kaiming_leaky",
    lambda I: I.KaimingUniform(negative_slope=1.0, nonlinearity="leaky_relu"),
    bounded=True,
)
add_random("kaiming_tanh_given_fan", lambda I: I.KaimingNormal(fan_in=7, nonlinearity="tanh"))
add_random("xavier_vector", lambda I: I.XavierUniform(), (40000,), bounded=True)

DEFAULTS = {
    "linear": (lambda nn: nn.Linear(200, 200), True),
    "conv1d": (lambda nn: nn.Conv1D(40, 100, 10), False),
    "conv2d": (lambda nn: nn.Conv2D(20, 40, (5, 10)), False),
    "conv2d_transpose": (lambda nn: nn.Conv2DTranspose(20, 40, (5, 10)), False),
    "embedding": (lambda nn: nn.Embedding(200, 200), True),
    "lstm_cell": (lambda nn: nn.LSTMCell(100, 100), True),
    "gru": (lambda nn: nn.GRU(200, 67), True),
    "simple_rnn": (lambda nn: nn.SimpleRNN(200, 200), True),
    "attention": (lambda nn: nn.MultiHeadAttention(200, 2), True),
}


def add_default(name, make, bounded):
    @cases.add(f"default_of_{name}", rtol=6e-2)
    def _(paddle, draw):
        paddle.seed(11)
        layer = make(paddle.nn)
        parameters = {n: p.numpy() for n, p in layer.named_parameters()}
        large = {n: statistics(v, bounded) for n, v in parameters.items() if v.size >= 10000}
        constant = {
            n: sorted({float(x) for x in v.reshape(-1)})
            for n, v in parameters.items()
            if "_" not in n and v.ndim == 1
        }
        return {"large": large, "constant": constant}


for _name, (_make, _bounded) in DEFAULTS.items():
    add_default(_name, _make, _bounded)


@cases.add("default_constants")
def _(paddle, draw):
    layers = [
        paddle.nn.LayerNorm(3),
        paddle.nn.BatchNorm2D(3),
        paddle.nn.GroupNorm(1, 3),
        paddle.nn.PReLU(),
    ]
    return [p for layer in layers for p in layer.parameters()]


@cases.add("constant")
def _(paddle, draw):
    I = paddle.nn.initializer
    return [
        made(paddle, I.Constant(), (2,)),
        made(paddle, I.Constant(2.5), (2,)),
        made(paddle, I.Constant(3), (2,), "float16"),
    ]


@cases.add("assign")
def _(paddle, draw):
    I = paddle.nn.initializer
    array = draw.normal(2, 3)
    sources = [array, array.tolist(), paddle.to_tensor(array), array.astype("float64")]
    return [made(paddle, I.Assign(source), (2, 3)) for source in sources]


@cases.add("dirac")
def _(paddle, draw):
    I = paddle.nn.initializer
    return [
        made(paddle, I.Dirac(), (3, 2, 3)),
        made(paddle, I.Dirac(), (2, 3, 4, 4)),
        made(paddle, I.Dirac(2), (4, 2, 3, 1)),
        made(paddle, I.Dirac(2), (4, 5, 1, 2, 3), "float64"),
    ]


@cases.add("bilinear")
def _(paddle, draw):
    I = paddle.nn.initializer
    return [
        made(paddle, I.Bilinear(), shape) for shape in ((1, 1, 3, 3), (2, 1, 4, 4), (1, 2, 2, 2))
    ]


@cases.add("orthogonal_rows", rtol=1e-5)
def _(paddle, draw):
    I = paddle.nn.initializer
    wide = made(paddle, I.Orthogonal(), (3, 5))
    tall = made(paddle, I.Orthogonal(gain=2.0), (6, 2))
    conv = made(paddle, I.Orthogonal(), (4, 2, 3)).reshape(4, 6)
    return [wide @ wide.T, tall.T @ tall, conv @ conv.T]


@cases.add("gains")
def _(paddle, draw):
    gain = paddle.nn.initializer.calculate_gain
    names = [
        "sigmoid",
        "linear",
        "conv2d",
        "conv3d_transpose",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ]
    return [float(gain(name)) for name in names] + [
        float(gain("leaky_relu", 0.5)),
        float(gain("leaky_relu", 1)),
    ]


@cases.add("global")
def _(paddle, draw):
    I = paddle.nn.initializer
    I.set_global_initializer(I.Constant(2.0), I.Constant(3.0))
    try:
        layers = [
            paddle.nn.Linear(2, 2),
            paddle.nn.Conv2D(1, 1, 1),
            paddle.nn.LayerNorm(2),
            paddle.nn.Linear(
                2,
                2,
                weight_attr=I.Constant(5.0),
                bias_attr=paddle.ParamAttr(initializer=I.Constant(6.0)),
            ),
        ]
    finally:
        I.set_global_initializer(None, None)
    return [p for layer in layers for p in layer.parameters()] + [paddle.nn.Linear(2, 2).bias]


cases.error("uniform_reversed", lambda paddle: paddle.nn.initializer.Uniform(2.0, 1.0))
cases.error("normal_none", lambda paddle: paddle.nn.initializer.Normal(None))
cases.error("constant_none", lambda paddle: paddle.nn.initializer.Constant(None))
cases.error("assign_number", lambda paddle: paddle.nn.initializer.Assign(3))
cases.error("dirac_groups", lambda paddle: paddle.nn.initializer.Dirac(0))
cases.error("dirac_rank", lambda paddle: made(paddle, paddle.nn.initializer.Dirac(), (2, 2)))
cases.error(
    "dirac_indivisible", lambda paddle: made(paddle, paddle.nn.initializer.Dirac(2), (3, 2, 3))
)
cases.error(
    "orthogonal_vector", lambda paddle: made(paddle, paddle.nn.initializer.Orthogonal(), (3,))
)
cases.error("bilinear_rank", lambda paddle: made(paddle, paddle.nn.initializer.Bilinear(), (3, 3)))
cases.error(
    "bilinear_oblong", lambda paddle: made(paddle, paddle.nn.initializer.Bilinear(), (1, 1, 3, 4))
)
cases.error("unknown_gain", lambda paddle: paddle.nn.initializer.calculate_gain("gelu"))
cases.error("kaiming_mode", lambda paddle: paddle.nn.initializer.KaimingNormal(mode="fan_avg"))
cases.error(
    "kaiming_fan_out_given",
    lambda paddle: paddle.nn.initializer.KaimingNormal(fan_in=3, mode="fan_out"),
)
