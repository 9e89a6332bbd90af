"""``paddle.nn.init``."""

import numpy as np
import pytest

import paddle
from paddle.nn import init


def test_tensors_are_filled_in_place():
    x = paddle.zeros([2, 2])
    assert init.constant_(x, 3.0) is x
    assert x.tolist() == [[3.0, 3.0]] * 2
    assert init.ones_(x).tolist() == [[1.0, 1.0]] * 2
    assert init.zeros_(x).tolist() == [[0.0, 0.0]] * 2
    assert init.eye_(x).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(AssertionError, match="2 dimensional"):
        init.eye_(paddle.zeros([2]))
    weight = init.dirac_(paddle.zeros([2, 2, 3]))
    assert weight[0].tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("fill", "low", "high", "std"),
    [
        (lambda x: init.uniform_(x, 1.0, 2.0), 1.0, 2.0, 12**-0.5),
        (lambda x: init.normal_(x, 5.0, 0.1), 4.0, 6.0, 0.1),
        (lambda x: init.trunc_normal_(x, 0.0, 1.0, -1.0, 1.0), -1.0, 1.0, 0.54),
        (lambda x: init.xavier_uniform_(x, 2.0), -0.35, 0.35, 0.2),
        (lambda x: init.xavier_normal_(x), -1.0, 1.0, 0.1),
        (lambda x: init.kaiming_uniform_(x, nonlinearity="relu"), -0.25, 0.25, 0.1414),
        (lambda x: init.kaiming_normal_(x, a=1.0), -1.0, 1.0, 0.1),
    ],
)
def test_tensors_are_filled_with_random_numbers(fill, low, high, std):
    paddle.seed(1)
    values = fill(paddle.zeros([100, 100])).numpy()
    assert low <= values.min()
    assert values.max() <= high
    assert values.std() == pytest.approx(std, rel=0.05)


def test_an_orthogonal_matrix():
    x = init.orthogonal_(paddle.zeros([3, 3])).numpy()
    np.testing.assert_allclose(x @ x.T, np.eye(3), atol=1e-5)
