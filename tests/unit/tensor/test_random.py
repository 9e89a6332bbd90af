"""Random tensors: their distributions, their dtypes and shapes, and what a seed promises."""

import math

import numpy as np
import pytest

import paddle

N = 20_000
# five standard errors of a mean of N draws with unit variance: one failure in two million runs, and
# the seed is fixed
CLOSE = 5 / math.sqrt(N)


@pytest.fixture(autouse=True)
def _seed():
    paddle.seed(20)


def moments(x):
    values = x.numpy().astype("float64")
    return values.mean(), values.var()


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        pytest.param(lambda: paddle.rand([N]), 0.5, 1 / 12, id="rand"),
        pytest.param(lambda: paddle.uniform([N], min=-3.0, max=1.0), -1.0, 16 / 12, id="uniform"),
        pytest.param(
            lambda: paddle.uniform([N], min=1.0, max=-3.0), -1.0, 16 / 12, id="uniform-reversed"
        ),
        pytest.param(lambda: paddle.randn([N]), 0.0, 1.0, id="randn"),
        pytest.param(lambda: paddle.standard_normal([N]), 0.0, 1.0, id="standard_normal"),
        pytest.param(lambda: paddle.normal(2.0, 0.5, [N]), 2.0, 0.25, id="normal"),
        pytest.param(
            lambda: paddle.normal(paddle.full([N], 2.0), paddle.full([N], 0.5)),
            2.0,
            0.25,
            id="normal-tensors",
        ),
        pytest.param(
            lambda: paddle.normal(paddle.full([N], 2.0)), 2.0, 1.0, id="normal-mean-tensor"
        ),
        pytest.param(lambda: paddle.log_normal(0.0, 0.5, [N]).log(), 0.0, 0.25, id="log_normal"),
        pytest.param(lambda: paddle.randint(3, 7, [N]), 4.5, 15 / 12, id="randint"),
        pytest.param(
            lambda: paddle.randint_like(paddle.zeros([N]), 3, 7), 4.5, 15 / 12, id="randint_like"
        ),
        pytest.param(lambda: paddle.bernoulli(paddle.full([N], 0.3)), 0.3, 0.21, id="bernoulli"),
        pytest.param(lambda: paddle.bernoulli(paddle.zeros([N]), 0.3), 0.3, 0.21, id="bernoulli-p"),
        pytest.param(lambda: paddle.poisson(paddle.full([N], 4.0)), 4.0, 4.0, id="poisson"),
        pytest.param(
            lambda: paddle.binomial(paddle.full([N], 10, "int64"), paddle.full([N], 0.3)),
            3.0,
            2.1,
            id="binomial",
        ),
        pytest.param(
            lambda: paddle.standard_gamma(paddle.full([N], 4.0)), 4.0, 4.0, id="standard_gamma"
        ),
        pytest.param(lambda: paddle.zeros([N]).uniform_(-3.0, 1.0), -1.0, 16 / 12, id="uniform_"),
        pytest.param(lambda: paddle.zeros([N]).normal_(2.0, 0.5), 2.0, 0.25, id="normal_"),
        pytest.param(
            lambda: paddle.zeros([N]).log_normal_(0.0, 0.5).log(), 0.0, 0.25, id="log_normal_"
        ),
        pytest.param(lambda: paddle.zeros([N]).exponential_(2.0), 0.5, 0.25, id="exponential_"),
        pytest.param(lambda: paddle.zeros([N]).bernoulli_(0.3), 0.3, 0.21, id="bernoulli_"),
        pytest.param(
            lambda: paddle.zeros([N]).geometric_(0.5) * math.log(2), 1.0, 1.0, id="geometric_"
        ),
        pytest.param(lambda: paddle.zeros([N]).random_(3, 7), 4.5, 15 / 12, id="random_"),
    ],
)
def test_moments(draw, mean, variance):
    found_mean, found_variance = moments(draw())
    spread = max(math.sqrt(variance), 1e-9)
    assert abs(found_mean - mean) <= CLOSE * spread
    assert abs(found_variance - variance) <= 15 * CLOSE * variance + 1e-12


def test_cauchy_quartiles():
    values = paddle.zeros([N]).cauchy_(2.0, 3.0).numpy()
    np.testing.assert_allclose(np.quantile(values, [0.25, 0.5, 0.75]), [-1.0, 2.0, 5.0], atol=0.25)


def test_multinomial_follows_the_weights():
    counts = np.bincount(
        paddle.multinomial(paddle.to_tensor([1.0, 0.0, 3.0]), N, True).numpy(), minlength=3
    )
    assert counts[1] == 0
    assert abs(counts[2] / N - 0.75) <= CLOSE


def test_multinomial_without_replacement_is_a_choice():
    rows = paddle.multinomial(paddle.rand([50, 4]) + 0.1, 3).numpy()
    assert rows.shape == (50, 3)
    assert all(len(set(row)) == 3 for row in rows)


def test_multinomial_refuses_too_few_categories():
    with pytest.raises(ValueError, match="2 samples without replacement"):
        paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0]), 2)


def test_randperm_is_a_permutation():
    order = paddle.randperm(100)
    assert order.dtype is paddle.int64
    assert sorted(order.tolist()) == list(range(100))
    assert order.tolist() != list(range(100))


@pytest.mark.parametrize(
    "draw",
    [lambda: paddle.rand([5]), lambda: paddle.randperm(50), lambda: paddle.randint(0, 99, [5])],
)
def test_seed_repeats_the_sequence(draw):
    paddle.seed(7)
    first, second = draw().tolist(), draw().tolist()
    paddle.seed(7)
    assert draw().tolist() == first
    assert first != second


def test_seed_argument_has_its_own_sequence():
    first = paddle.uniform([5], seed=3).tolist()
    paddle.rand([1])
    assert paddle.uniform([5], seed=3).tolist() == first
    assert paddle.uniform([5], seed=4).tolist() != first
    assert paddle.zeros([5]).uniform_(seed=3).tolist() == first


@pytest.mark.parametrize(
    ("make", "shape", "dtype"),
    [
        (lambda: paddle.rand([2, 3]), [2, 3], "float32"),
        (lambda: paddle.rand(paddle.to_tensor([2, 3]), "float64"), [2, 3], "float64"),
        (lambda: paddle.randn(2, 3), [2, 3], "float32"),
        (lambda: paddle.randn([], "bfloat16"), [], "bfloat16"),
        (lambda: paddle.uniform([2], "float16"), [2], "float16"),
        (lambda: paddle.randint(5), [1], "int64"),
        (lambda: paddle.randint(0, 5, [2], "int32"), [2], "int32"),
        (lambda: paddle.randint_like(paddle.ones([2]), 5), [2], "float32"),
        (lambda: paddle.randperm(3, "int32"), [3], "int32"),
        (lambda: paddle.rand_like(paddle.ones([2, 2], "float64")), [2, 2], "float64"),
        (lambda: paddle.randn_like(paddle.ones([2], "int32"), "float32"), [2], "float32"),
        (lambda: paddle.multinomial(paddle.ones([2, 3]), 2), [2, 2], "int64"),
        (
            lambda: paddle.binomial(paddle.to_tensor([5.0, 6.0]), paddle.to_tensor(1.0)),
            [2],
            "int64",
        ),
    ],
)
def test_shape_and_dtype(make, shape, dtype):
    x = make()
    assert (x.shape, x.dtype.name) == (shape, dtype)


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.randint(5, 2),
        lambda: paddle.randint(0),
        lambda: paddle.rand([2], "int32"),
        lambda: paddle.normal(),
        lambda: paddle.multinomial(paddle.to_tensor([-1.0, 0.5]), 1),
        lambda: paddle.multinomial(paddle.to_tensor([0.0, 0.0]), 1),
        lambda: paddle.to_tensor([1.0], stop_gradient=False).normal_(),
    ],
    ids=[
        *("an empty range", "a range that ends at 0", "integers by rand", "normal without a shape"),
        *("a negative weight", "weights that are all 0", "a leaf in training, in place"),
    ],
)
def test_no_numbers_are_drawn_for(call):
    with pytest.raises(ValueError):
        call()


def test_bernoulli_outside_probabilities():
    with pytest.raises(IndexError, match=r"\[0, 1\]"):
        paddle.bernoulli(paddle.to_tensor([2.0]))


def test_complex_mean_is_refused():
    with pytest.raises(NotImplementedError, match="complex mean"):
        paddle.normal(1 + 1j, 1.0, [2])


def test_normal_is_differentiable_in_its_parameters():
    mean = paddle.zeros([3], requires_grad=True)
    std = paddle.ones([3], requires_grad=True)
    draws = paddle.normal(mean, std)
    draws.sum().backward()
    assert mean.grad.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(std.grad.numpy(), draws.numpy(), rtol=1e-6)


def test_in_place_draws_keep_the_memory_and_the_parameter():
    weight = paddle.create_parameter([3], "float32")
    view = weight.detach()
    with paddle.no_grad():
        assert weight.uniform_(5.0, 6.0) is weight
    assert not weight.stop_gradient
    assert view.tolist() == weight.tolist()
    assert weight.min() >= 5.0
