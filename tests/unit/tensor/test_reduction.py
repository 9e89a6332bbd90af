"""Reductions: what golden values cannot show."""

import numpy as np
import pytest

import paddle


def test_an_axis_outside_the_rank_is_named():
    with pytest.raises(ValueError, match=r"axis 2 .*\[2, 3\]"):
        paddle.prod(paddle.ones([2, 3]), axis=2)


def test_an_axis_of_the_wrong_type_names_the_call():
    with pytest.raises(TypeError, match=r"amax: axis must be int.* received float"):
        paddle.amax(paddle.ones([2]), axis=1.0)


def test_numpy_integers_are_axes():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(axis=np.int64(0)).tolist() == [4.0, 6.0]
    assert x.sum(axis=[np.int32(0), 1]).item() == 10.0


def test_out_receives_the_result_and_is_returned():
    out = paddle.zeros([2])
    result = paddle.sum(paddle.ones([2, 3]), axis=1, out=out)
    assert result is out
    assert out.tolist() == [3.0, 3.0]


def test_median_out_is_a_pair_in_mode_min():
    values, index = paddle.zeros([1]), paddle.zeros([1], "int64")
    paddle.median(paddle.to_tensor([[3.0, 1.0, 2.0]]), axis=1, mode="min", out=(values, index))
    assert (values.item(), index.item()) == (2.0, 2)


def test_variance_of_one_value_is_nan_without_a_warning():
    assert np.isnan(paddle.var(paddle.to_tensor([3.0])).item())


def test_product_has_a_finite_gradient_at_zero():
    x = paddle.to_tensor([2.0, 0.0, 3.0], stop_gradient=False)
    paddle.prod(x).backward()
    assert x.grad.tolist() == [0.0, 6.0, 0.0]


def test_quantile_refuses_integers():
    with pytest.raises(TypeError, match="cast"):
        paddle.quantile(paddle.to_tensor([1, 2, 3]), 0.5)


def test_reduce_as_refuses_what_does_not_broadcast():
    with pytest.raises(ValueError, match=r"reduce_as: a target of shape \[2\]"):
        paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([2]))
