"""Draws of distributions, and what golden cases cannot say about them."""

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle import distribution as D

_ROOT = np.array([[1.0, 0.0], [0.5, 2.0]], "float32")


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.Beta(2.0, 3.0),
        lambda: D.Dirichlet(paddle.to_tensor([1.0, 2.0, 4.0])),
        lambda: D.Exponential(2.0),
        lambda: D.Gamma(3.0, 2.0),
        lambda: D.Chi2(4.0),
        lambda: D.Geometric(0.3),
        lambda: D.Gumbel(1.0, 2.0),
        lambda: D.Laplace(1.0, 2.0),
        lambda: D.LogNormal(0.2, 0.4),
        lambda: D.Poisson(3.0),
        lambda: D.Binomial(8, 0.3),
        lambda: D.Multinomial(6, paddle.to_tensor([1.0, 2.0, 3.0])),
        lambda: D.StudentT(9.0, 1.0, 2.0),
        lambda: D.MultivariateNormal(paddle.ones([2]), scale_tril=paddle.to_tensor(_ROOT)),
        lambda: D.Independent(D.Normal(paddle.zeros([2]), paddle.ones([2])), 1),
    ],
    ids=lambda make: type(make()).__name__,
)
def test_draws_have_the_mean_and_the_variance(make):
    paddle.seed(11)
    one = make()
    drawn = one.sample([20000]).numpy()
    assert drawn.shape == (20000, *one.batch_shape, *one.event_shape)
    mean, variance = np.asarray(one.mean), np.asarray(one.variance)
    wide = np.sqrt(variance.max())
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.05 * wide)
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.12, atol=0.05 * wide**2)


def test_half_of_the_draws_of_cauchy_are_within_its_scale():
    paddle.seed(3)
    drawn = D.Cauchy(1.0, 2.0).sample([20000]).numpy()
    assert np.mean(np.abs(drawn - 1.0) < 2.0) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("kind", [D.Laplace, D.Gumbel, D.LogNormal, D.Cauchy])
def test_gradients_flow_through_draws(kind):
    loc, scale = paddle.to_tensor([0.5]), paddle.to_tensor([2.0])
    loc.stop_gradient = scale.stop_gradient = False
    kind(loc, scale).rsample([3]).sum().backward()
    assert float(loc.grad) != 0.0
    assert np.isfinite(float(scale.grad))
    assert kind(loc, scale).sample([3]).stop_gradient


def test_the_entropy_of_an_exponential_family_follows_from_its_normaliser():
    class Own(D.ExponentialFamily):
        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_parameters(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -paddle.log(-x)

        _mean_carrier_measure = 0.0

    rate = paddle.to_tensor([0.5, 2.0])
    np.testing.assert_allclose(Own(rate).entropy(), D.Exponential(rate).entropy(), rtol=1e-6)


def test_a_rule_of_ones_own_comes_first_and_serves_derived_classes():
    class Own(D.Normal):
        pass

    @D.register_kl(Own, D.Uniform)
    def rule(p, q):
        return "mine"

    assert D.kl_divergence(Own(0.0, 1.0), D.Uniform(0.0, 1.0)) == "mine"
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Uniform(0.0, 1.0))
    with pytest.raises(TypeError, match="subclass of Distribution"):
        D.register_kl(int, D.Normal)
    from argosy.distribution import kl

    del kl._rules[Own, D.Uniform]


def test_transforms_in_a_row_are_a_chain():
    double = D.AffineTransform(paddle.zeros([]), paddle.full([], 2.0))
    chain = double(D.ExpTransform())
    assert isinstance(chain, D.ChainTransform)
    assert float(chain(paddle.to_tensor(0.5))) == pytest.approx(np.e)
    with pytest.raises(NotSupported):
        D.SoftmaxTransform().forward_log_det_jacobian(paddle.ones([2]))
    with pytest.raises(ValueError, match="length of transforms"):
        D.StackTransform([D.ExpTransform()]).forward(paddle.ones([2]))
    with pytest.raises(ValueError, match="at least 1"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [D.SoftmaxTransform()])


def test_what_is_left_out_is_named():
    with pytest.raises(NotSupported, match="LKJCholesky is not supported"):
        _ = D.LKJCholesky
