"""``paddle.tensor.top_p_sampling``."""

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle.tensor import top_p_sampling

ROWS = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], "float32")


def _columns(ps, count=300, **kwargs):
    x = paddle.to_tensor(np.tile(ROWS, (count, 1)))
    values, columns = top_p_sampling(x, paddle.full([2 * count, 1], ps), **kwargs)
    assert columns.shape == [2 * count, 1]
    picked = columns.numpy().reshape(count, 2)
    assert np.allclose(values.numpy().reshape(count, 2), ROWS[[0, 1], picked])
    return [set(picked[:, row].tolist()) for row in range(2)]


def test_only_the_likeliest_columns_are_drawn():
    paddle.seed(1)
    assert _columns(0.0) == [{1}, {0}]
    assert _columns(0.55) == [{1}, {0, 2}]
    assert _columns(0.7) == [{1, 2}, {0, 2}]
    assert _columns(1.0) == [{0, 1, 2}, {0, 1, 2}]


def test_what_is_below_the_threshold_is_left_out():
    paddle.seed(1)
    assert _columns(1.0, threshold=paddle.full([600], 0.25)) == [{1, 2}, {0, 2}]
    assert _columns(1.0, threshold=paddle.full([600], 0.9)) == [{1}, {0}]


def test_seeds_repeat_a_draw():
    x = paddle.full([20, 10], 0.1)
    for seeds in ({"seed": 5}, {"topp_seed": paddle.arange(20)}):
        first, second = (top_p_sampling(x, paddle.ones([20]), **seeds)[1] for _ in range(2))
        assert first.tolist() == second.tolist()
        assert len(set(first.flatten().tolist())) > 1


def test_other_modes_are_refused():
    with pytest.raises(NotSupported, match="non-truncated"):
        top_p_sampling(paddle.ones([1, 1]), paddle.ones([1]), mode="non-truncated")
