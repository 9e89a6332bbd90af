"""``paddle._C_ops``: operators with their arguments in order."""

import numpy as np
import pytest

import paddle
from paddle import _C_ops


@pytest.fixture(autouse=True)
def _eager():
    paddle.disable_static()


def test_arguments_come_in_the_order_of_the_operator():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert _C_ops.scale(x, 2.0, 1.0, False).tolist() == [[4.0, 6.0], [8.0, 10.0]]
    assert _C_ops.sum(x, [], None, False).item() == 10.0
    assert _C_ops.max(x, [0], True).tolist() == [[3.0, 4.0]]
    assert _C_ops.argmax(x, 0, False, True, "int64").item() == 3
    assert _C_ops.matmul(x, x, False, True).tolist() == [[5.0, 11.0], [11.0, 25.0]]
    assert _C_ops.full_like(x, 7, x.dtype, paddle.CPUPlace()).tolist() == [[7.0, 7.0]] * 2
    assert [part.tolist() for part in _C_ops.split_with_num(x, 2, 1)] == [
        [[1.0], [3.0]],
        [[2.0], [4.0]],
    ]


def test_operators_of_tensors_alone_are_those_of_the_table():
    x = paddle.to_tensor([4.0, 9.0])
    assert _C_ops.sqrt(x).tolist() == [2.0, 3.0]
    assert _C_ops.multiply(x, x).tolist() == [16.0, 81.0]
    assert _C_ops.sqrt_(x) is x
    assert x.tolist() == [2.0, 3.0]


def test_gradients_flow():
    x = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
    _C_ops.mean_all(_C_ops.multiply(x, x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 3.0])


def test_what_there_is_not_is_told():
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = _C_ops.nothing_like_it
    with pytest.raises(ValueError, match="expected tensors for"):
        _C_ops.sqrt(paddle.ones([1]), 3.0)


def test_truncated_numbers_keep_the_bounds_of_either_version():
    def draw(*bounds):
        call = _C_ops.truncated_gaussian_random
        return call([4000], 1.0, 2.0, 7, *bounds, paddle.float32, paddle.CPUPlace()).numpy()

    wide, narrow = draw(), draw(0.5, 1.5)
    assert -3.0 <= wide.min() < -2.5
    assert 4.5 < wide.max() <= 5.0
    assert 0.5 <= narrow.min() < 0.55
    assert 1.45 < narrow.max() <= 1.5
