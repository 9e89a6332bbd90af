"""The wrappers of paddle.incubate around other optimizers."""

import contextlib

import pytest

import paddle
from paddle.incubate import LookAhead, ModelAverage


def parameter(value=8.0):
    return paddle.create_parameter(
        [2], "float32", default_initializer=paddle.nn.initializer.Constant(value)
    )


def backward(w):
    (w * w).sum().backward()


def test_lookahead_follows_every_k_steps():
    w = parameter()
    lookahead = LookAhead(paddle.optimizer.SGD(0.25, parameters=[w]), alpha=0.5, k=3)
    seen = []
    for _ in range(3):
        backward(w)
        lookahead.step()
        lookahead.clear_grad()
        seen.append(w.tolist()[0])
    # 8 -> 4 (slow starts here) -> 2 -> 1, then half-way back to the slow 4
    assert seen == [4.0, 2.0, 2.5]


def test_lookahead_minimizes():
    w = parameter()
    lookahead = LookAhead(paddle.optimizer.SGD(0.25, parameters=[w]), alpha=0.5, k=1)
    backward(w)
    _, pairs = lookahead.minimize((w * w).sum())
    assert [p is w for p, _ in pairs] == [True]
    assert w.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("settings", [{"alpha": 1.5}, {"k": 0}, {"k": 2.5}])
def test_lookahead_checks_its_settings(settings):
    with pytest.raises(AssertionError, match="LookAhead"):
        LookAhead(paddle.optimizer.SGD(0.1, parameters=[parameter()]), **settings)


def test_average_before_any_step_is_refused():
    average = ModelAverage(0.5, parameters=[parameter()])
    with pytest.raises(ValueError, match="nothing to average"), average.apply():
        pass


def test_average_is_undone_after_an_error():
    w = parameter()
    average = ModelAverage(0.5, parameters=[w], min_average_window=5, max_average_window=9)
    backward(w)
    average.step()
    w.set_value(paddle.full([2], 2.0))
    average.step()
    with contextlib.suppress(ZeroDivisionError), average.apply():
        assert w.tolist() == [5.0, 5.0]
        raise ZeroDivisionError
    assert w.tolist() == [2.0, 2.0]


def test_average_window_order_is_checked():
    with pytest.raises(
        ValueError, match="min_average_window 5 must not be greater than max_average_window 3"
    ):
        ModelAverage(0.5, parameters=[parameter()], min_average_window=5, max_average_window=3)
