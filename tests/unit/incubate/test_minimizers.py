"""``incubate.optimizer.functional``: minima found eagerly and in programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate.optimizer.functional import minimize_bfgs, minimize_lbfgs

both = pytest.mark.parametrize("minimize", [minimize_bfgs, minimize_lbfgs])


def rosenbrock(position):
    x, y = position[0], position[1]
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def bowl(position):
    scale = paddle.arange(1, 4).astype(position.dtype)
    return (scale * (position - 2.0) ** 2).sum()


def in_program(minimize, function, start, **options):
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", list(start.shape), str(start.dtype))
            fetches = minimize(function, x, dtype=str(start.dtype), **options)
        return paddle.static.Executor().run(main, feed={"x": start}, fetch_list=list(fetches))
    finally:
        paddle.disable_static()


@both
def test_a_curved_valley(minimize):
    start = np.array([-1.2, 1.0])
    results = minimize(rosenbrock, paddle.to_tensor(start), dtype="float64")
    found, calls, position, value, gradient = (r.numpy() for r in results[:5])
    assert found.shape == (1,)
    assert found[0]
    assert calls[0] < 150
    np.testing.assert_allclose(position, [1, 1], rtol=1e-6)
    np.testing.assert_allclose(value, 0, atol=1e-12)
    np.testing.assert_allclose(gradient, [0, 0], atol=1e-6)


@both
def test_a_program_takes_the_same_steps(minimize):
    start = np.array([5.0, -3.0, 0.5])
    eager = minimize(bowl, paddle.to_tensor(start), dtype="float64")
    recorded = in_program(minimize, bowl, start)
    assert len(eager) == len(recorded)
    for one, other in zip(eager, recorded, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12)
    np.testing.assert_allclose(recorded[2], [2, 2, 2], rtol=1e-6)


def test_bfgs_learns_the_inverse_hessian():
    start = paddle.to_tensor([5.0, -3.0, 0.5], dtype="float64")
    estimate = minimize_bfgs(bowl, start, dtype="float64")[5]
    np.testing.assert_allclose(estimate.numpy(), np.diag([1 / 2, 1 / 4, 1 / 6]), atol=1e-4)


def test_lbfgs_with_a_short_history():
    start = paddle.to_tensor([5.0, -3.0, 0.5], dtype="float64")
    found, _, position, *_ = minimize_lbfgs(bowl, start, history_size=2, dtype="float64")
    assert found.item()
    np.testing.assert_allclose(position.numpy(), [2, 2, 2], rtol=1e-6)


@both
def test_without_a_minimum_nothing_is_found(minimize):
    found, *_ = minimize(lambda x: (x**3).sum(), paddle.to_tensor([-1.7]))
    assert not found.item()


@both
def test_arguments(minimize):
    x = paddle.to_tensor([1.0, 2.0])
    indefinite = paddle.to_tensor([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="symmetric and positive definite"):
        minimize(bowl, x, initial_inverse_hessian_estimate=indefinite)
    with pytest.raises(NotImplementedError, match="strong_wolfe"):
        minimize(bowl, x, line_search_fn="other")
    with pytest.raises(ValueError, match="float32"):
        minimize(bowl, x, dtype="float16")
    with pytest.raises(ValueError, match="initial_position"):
        minimize(bowl, [1.0, 2.0])
