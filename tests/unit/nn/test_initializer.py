"""Initialisers against their formulas, over many draws."""

import math

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn import initializer as I

SHAPE = [250, 400]
N = math.prod(SHAPE)


def draw(initializer, shape=SHAPE, dtype="float32"):
    paddle.seed(3)
    return (
        paddle.create_parameter(shape, dtype, default_initializer=initializer)
        .astype("float64")
        .numpy()
    )


def check_moments(values, mean, std):
    """Mean and deviation within five standard errors."""
    assert abs(values.mean() - mean) < 5 * std / math.sqrt(values.size)
    assert abs(values.std() / std - 1) < 5 / math.sqrt(2 * values.size)


def check_uniform(values, low, high):
    check_moments(values, (low + high) / 2, (high - low) / math.sqrt(12))
    assert low <= values.min() < low + (high - low) * 20 / values.size
    assert high - (high - low) * 20 / values.size < values.max() <= high


def truncated_moments(mean, std, a, b):
    """Mean and deviation of a truncated normal, by numerical integration."""
    x = np.linspace(a, b, 200_001)
    density = np.exp(-0.5 * ((x - mean) / std) ** 2)
    density /= density.sum()
    centre = (density * x).sum()
    return centre, math.sqrt((density * (x - centre) ** 2).sum())


def test_uniform():
    check_uniform(draw(I.Uniform(-0.5, 2.0)), -0.5, 2.0)


def test_normal():
    values = draw(I.Normal(1.0, 0.5))
    check_moments(values, 1.0, 0.5)
    # the tails of a normal distribution, which moments do not show
    assert abs((np.abs(values - 1.0) > 1.0).mean() - 0.0455) < 0.003


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [
        (0.0, 1.0, -2.0, 2.0),
        (0.0, 0.02, -2.0, 2.0),
        (0.0, 3.0, -2.0, 2.0),
        (1.0, 1.0, -1.0, 0.5),
        (3.0, 1.0, -2.0, 2.0),
    ],
)
def test_truncated_normal_has_absolute_bounds(mean, std, a, b):
    values = draw(I.TruncatedNormal(mean, std, a, b))
    assert a <= values.min() <= values.max() <= b
    check_moments(
        values, *truncated_moments(mean, std, max(a, mean - 12 * std), min(b, mean + 12 * std))
    )


def test_truncated_normal_never_gives_the_bound_of_a_narrow_distribution():
    assert np.abs(draw(I.TruncatedNormal(0.0, 0.02), [1000, 2000])).max() < 0.02 * 8


@pytest.mark.parametrize(
    ("shape", "fan_in", "fan_out"),
    [([250, 400], 250, 400), ([40, 50, 5, 10], 2500, 2000), ([100_000], 100_000, 100_000)],
)
def test_xavier_and_kaiming_scale_by_fans(shape, fan_in, fan_out):
    limit = math.sqrt(6 / (fan_in + fan_out))
    check_uniform(draw(I.XavierUniform(), shape), -limit, limit)
    check_moments(draw(I.XavierNormal(gain=2.0), shape), 0.0, 2 * math.sqrt(2 / (fan_in + fan_out)))
    limit = math.sqrt(6 / fan_in)
    check_uniform(draw(I.KaimingUniform(), shape), -limit, limit)
    check_moments(draw(I.KaimingNormal(), shape), 0.0, math.sqrt(2 / fan_in))
    check_moments(draw(I.KaimingNormal(mode="fan_out"), shape), 0.0, math.sqrt(2 / fan_out))


def test_fans_of_zero_give_zeros():
    assert not draw(I.XavierUniform(fan_in=0), [3, 4]).any()
    assert not draw(I.XavierNormal(fan_out=0), [3, 4]).any()


def test_orthogonal_is_uniform_over_rotations():
    # the first entry of a random 2x2 rotation or reflection is the cosine of a uniform angle
    paddle.seed(5)
    first = np.array([draw_small() for _ in range(2000)])
    assert abs(first.mean()) < 5 * math.sqrt(0.5 / first.size)
    assert abs((first**2).mean() - 0.5) < 0.05


def draw_small():
    return float(
        paddle.create_parameter([2, 2], "float32", default_initializer=I.Orthogonal())[0, 0]
    )


DEFAULTS = [
    (lambda: nn.Linear(250, 400).weight, "uniform", math.sqrt(6 / 650)),
    (lambda: nn.Conv2D(50, 40, (5, 10)).weight, "normal", math.sqrt(2 / 2500)),
    (lambda: nn.Conv1D(50, 80, 25).weight, "normal", math.sqrt(2 / 1250)),
    (lambda: nn.LSTM(250, 100).weight_ih_l0, "uniform", 0.1),
    (lambda: nn.GRU(100, 400).weight_hh_l0, "uniform", 0.05),
    (lambda: nn.SimpleRNNCell(250, 400).weight_ih, "uniform", 0.05),
    (lambda: nn.MultiHeadAttention(400, 4).k_proj.weight, "uniform", math.sqrt(6 / 800)),
]


@pytest.mark.parametrize(("make", "kind", "scale"), DEFAULTS)
def test_default_of_layers(make, kind, scale):
    paddle.seed(9)
    values = make().astype("float64").numpy()
    if kind == "uniform":
        check_uniform(values, -scale, scale)
    else:
        check_moments(values, 0.0, scale)


def test_default_bias_is_zero():
    assert not nn.Linear(3, 4).bias.numpy().any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_drawn_finely(dtype):
    values = draw(I.Uniform(0.0, 1.0), dtype=dtype)
    # drawn in the dtype itself, the smallest values would be multiples of its epsilon
    assert values[values > 0].min() < 1e-3
    check_moments(values, 0.5, math.sqrt(1 / 12))


def test_seed_repeats_and_changes():
    assert np.array_equal(draw(I.Normal()), draw(I.Normal()))
    paddle.seed(1)
    first = paddle.create_parameter([4], "float32", default_initializer=I.Normal()).numpy()
    second = paddle.create_parameter([4], "float32", default_initializer=I.Normal()).numpy()
    assert not np.array_equal(first, second)


def test_fills_an_existing_tensor_in_place():
    x = paddle.zeros([2, 2])
    alias = x.detach()
    I.Constant(3.0)(x)
    assert alias.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_assign_of_another_size_gives_the_parameter_its_shape_and_warns():
    with pytest.warns(UserWarning, match=r"value has shape \[2\], the parameter \[3\]"):
        p = paddle.create_parameter([3], "float32", default_initializer=I.Assign([1.0, 2.0]))
    (p * p).sum().backward()
    assert p.shape == [2]
    assert p.grad.tolist() == [2.0, 4.0]


def test_assign_takes_the_parameters_shape():
    p = paddle.create_parameter([2, 3], "float32", default_initializer=I.Assign(np.arange(6)))
    assert p.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_plan_is_an_op_and_its_attributes():
    op, attributes = I.Normal(1.0, 2.0).plan([3], paddle.float32.torch)
    assert op.name == "gaussian_random"
    assert attributes["mean"] == 1.0
    assert attributes["std"] == 2.0


def test_global_initializer_yields_to_the_attribute_and_is_undone():
    I.set_global_initializer(I.Constant(2.0), I.Constant(3.0))
    try:
        layer = nn.Linear(1, 1)
        own = nn.Linear(1, 1, weight_attr=I.Constant(5.0))
    finally:
        I.set_global_initializer(None)
    assert (layer.weight.item(), layer.bias.item(), own.weight.item(), own.bias.item()) == (
        2.0,
        3.0,
        5.0,
        3.0,
    )
    assert nn.Linear(1, 1).bias.item() == 0.0


def test_global_initializer_refuses_what_is_none():
    with pytest.raises(TypeError, match="weight_init must be an Initializer, but received float"):
        I.set_global_initializer(1.0)


def test_unknown_gain_lists_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'leaky_relu'"):
        I.calculate_gain("leakyrelu")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (I.UniformInitializer(-0.5, 2.0), I.Uniform(-0.5, 2.0)),
        (I.NormalInitializer(1.0, 0.5), I.Normal(1.0, 0.5)),
        (I.TruncatedNormalInitializer(0.0, 0.5), I.TruncatedNormal(0.0, 0.5)),
        (I.XavierInitializer(uniform=False, fan_in=10), I.XavierNormal(fan_in=10)),
        (I.XavierInitializer(), I.XavierUniform()),
        (I.MSRAInitializer(), I.KaimingUniform()),
        (I.MSRAInitializer(uniform=False, fan_in=9), I.KaimingNormal(fan_in=9)),
        (I.ConstantInitializer(3.0), I.Constant(3.0)),
    ],
)
def test_names_of_paddle_one_draw_the_same(old, new):
    assert np.array_equal(draw(old), draw(new))


@pytest.mark.parametrize(
    "make",
    [I.UniformInitializer, I.NormalInitializer, I.TruncatedNormalInitializer, I.XavierInitializer],
)
def test_a_seed_gives_the_same_numbers_at_every_use(make):
    initializer = make(seed=5)
    first, second = (
        paddle.create_parameter([4, 4], "float32", default_initializer=initializer)
        for _ in range(2)
    )
    other = paddle.create_parameter([4, 4], "float32", default_initializer=make(seed=6))
    assert first.tolist() == second.tolist()
    assert first.tolist() != other.tolist()


def test_a_seed_leaves_the_process_generator_alone():
    paddle.seed(1)
    expected = paddle.create_parameter([4], "float32", default_initializer=I.Normal()).tolist()
    paddle.seed(1)
    paddle.create_parameter([4], "float32", default_initializer=I.NormalInitializer(seed=5))
    assert (
        paddle.create_parameter([4], "float32", default_initializer=I.Normal()).tolist() == expected
    )


def test_diagonal_of_uniform_is_not_supported():
    with pytest.raises(NotImplementedError, match="diag_num"):
        I.UniformInitializer(diag_num=2, diag_step=3)


def test_the_parts_of_a_complex_parameter_share_a_normal_distribution():
    paddle.seed(3)
    drawn = paddle.create_parameter(
        SHAPE, "complex64", default_initializer=I.Normal(2.0 + 2.0j, 3.0)
    ).numpy()
    for part in (drawn.real, drawn.imag):
        check_moments(part.astype("float64"), 2.0, 3.0 / math.sqrt(2))
    with pytest.raises(ValueError, match="parts of a complex mean must be equal"):
        I.Normal(0.1 + 0.2j)
