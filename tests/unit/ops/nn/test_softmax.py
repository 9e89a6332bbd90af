"""Softmax and the losses on it clip at 64 below the largest logit, as Paddle's CPU kernels do; the
numbers are Paddle's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

FAR = [[0.0, -200.0, 1.0], [-70.0, 0.0, -63.5]]
NORM = math.log(1 + math.e) - 1  # of the first row, beyond its largest logit
WEIGHTS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _logits(values: Any, dtype: str = "float64") -> Any:
    return paddle.to_tensor(np.array(values, dtype), stop_gradient=False)


def _run(fn: Any, logits: Any, weights: Any = None) -> tuple[Any, Any]:
    out = fn(logits)
    (out if weights is None else out * paddle.to_tensor(weights, dtype=out.dtype)).sum().backward()
    return out.numpy(), logits.grad.numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_has_a_smallest_probability(dtype: str) -> None:
    value, grad = _run(F.softmax, _logits(FAR, dtype), WEIGHTS)
    np.testing.assert_allclose(value[0, 1], 1.1724797e-28, rtol=1e-5)
    np.testing.assert_allclose(value[1], [1.6038109e-28, 1.0, 2.6442371e-28], rtol=1e-5)
    np.testing.assert_allclose(grad[0, 1], -5.4182299e-29, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_softmax_ends_at_64_and_keeps_its_gradient(dtype: str) -> None:
    value, grad = _run(F.log_softmax, _logits(FAR, dtype), WEIGHTS)
    wanted = [[-1 - NORM, -64 - NORM, -NORM], [-64, 0, -63.5]]
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    np.testing.assert_allclose(grad[:, 1], [2.0, -10.0], rtol=1e-6)


def test_other_axes_clip_as_the_last() -> None:
    value, grad = _run(lambda x: F.log_softmax(x, axis=0), _logits(FAR), WEIGHTS)
    np.testing.assert_allclose(value, [[0, -64, 0], [-64, 0, -64]], atol=1e-12)
    np.testing.assert_allclose(grad, [[-4, 2, -6], [4, -2, 6]], atol=1e-12)


def test_many_numbers_take_the_other_way_to_the_lowest() -> None:
    logits = np.zeros((4, 5000))
    logits[2, 7] = -200
    value = F.log_softmax(paddle.to_tensor(logits)).numpy()
    assert value[2].min() == pytest.approx(-64 - math.log(4999))
    assert value[1].min() == pytest.approx(-math.log(5000))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_loss_is_at_most_64_beyond_that_of_the_likeliest(reduction: str) -> None:
    label = paddle.to_tensor([1, 0])
    value, grad = _run(lambda x: F.cross_entropy(x, label, reduction=reduction), _logits(FAR))
    losses = np.array([64 + NORM, 64.0])
    wanted = losses if reduction == "none" else getattr(losses, reduction)()
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    rows = np.array([[0.26894142137, -1.0, 0.73105857863], [-1.0, 1.0, 2.6e-28]])
    np.testing.assert_allclose(grad, rows / (2 if reduction == "mean" else 1), atol=1e-9)


def test_large_batches_of_many_classes_clip_in_the_mean() -> None:
    logits = np.zeros((2, 5000))
    logits[0, 3] = -500
    loss = F.cross_entropy(paddle.to_tensor(logits), paddle.to_tensor([3, 3]))
    assert float(loss) == pytest.approx((64 + math.log(4999) + math.log(5000)) / 2)


def test_ignored_positions_cost_nothing_beside_a_clipped_one() -> None:
    loss = F.cross_entropy(_logits(FAR), paddle.to_tensor([1, -100]))
    assert float(loss) == pytest.approx((64 + NORM) / 2)


def test_soft_labels_clip_each_class() -> None:
    label = [[0.2, 0.5, 0.3], [0.5, 0.25, 0.25]]
    value, grad = _run(
        lambda x: F.softmax_with_cross_entropy(x, paddle.to_tensor(label).astype(x.dtype), True),
        _logits(FAR),
    )
    np.testing.assert_allclose(value[:, 0], [32.5132616875, 47.875], rtol=1e-7)
    np.testing.assert_allclose(grad[1], [-0.5, 0.75, -0.25], atol=1e-7)


def test_masked_logits_leave_losses_and_gradients_finite() -> None:
    value, grad = _run(
        lambda x: F.cross_entropy(x, paddle.to_tensor([1])), _logits([[0.0, -np.inf, 1.0]])
    )
    assert float(value) == pytest.approx(64 + NORM)
    np.testing.assert_allclose(grad, [[0.26894142137, -1.0, 0.73105857863]], atol=1e-9)


def test_a_nan_stays_in_its_row() -> None:
    value = F.log_softmax(paddle.to_tensor([[0.0, np.nan], [0.0, -200.0]])).numpy()
    assert np.isnan(value[0]).all()
    np.testing.assert_array_equal(value[1], [0.0, -64.0])


@pytest.mark.parametrize("shape", [[0, 3], []])
def test_edges_have_a_softmax(shape: list[int]) -> None:
    x = paddle.ones(shape)
    assert F.softmax(x).shape == shape
    assert F.log_softmax(x).shape == shape
