"""What functions ask about being recorded."""

import pytest

import paddle
from paddle.framework import _no_check_dy2st_diff
from paddle.jit.api import set_dynamic_shape
from paddle.nn.layer.layers import in_declarative_mode


def test_a_function_knows_that_it_is_recorded_and_may_declare_a_shape():
    seen = []

    @paddle.jit.to_static(full_graph=True)
    def double(x):
        seen.append(in_declarative_mode())
        y = x * 2
        set_dynamic_shape(y, [-1, 2])
        seen.append(y.desc.shape())
        with pytest.raises(TypeError, match="must be a Variable"):
            set_dynamic_shape(3, [-1])
        return y

    assert double(paddle.ones([3, 2])).tolist() == [[2.0, 2.0]] * 3
    assert seen == [True, [-1, 2]]
    assert not in_declarative_mode()


def test_outside_nothing_is_declared():
    x = paddle.ones([2])
    with _no_check_dy2st_diff():
        set_dynamic_shape(x, [-1])
    assert x.shape == [2]
