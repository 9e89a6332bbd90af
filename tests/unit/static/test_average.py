"""Averages of parameters in programs, and slow weights."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import BadArgument, ProgramError, UsageError

Constant = paddle.nn.initializer.Constant


def build(rate=0.25):
    """A program that halves its parameter in each run."""
    attr = paddle.ParamAttr(name="w", initializer=Constant(1.0))
    w = paddle.static.create_parameter([1], "float32", attr=attr)
    loss = (w * w).sum()
    paddle.optimizer.SGD(rate).minimize(loss)
    return w, loss


def start():
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe


def held(variable):
    return float(np.array(variable.get_value())[0])


def test_a_moving_average_is_corrected_for_its_start():
    w, _ = build()
    average = paddle.static.ExponentialMovingAverage(0.5)
    average.update()
    exe = start()
    exe.run()
    with average.apply(exe):
        assert held(w) == 0.5  # of one value, the average is that value
    exe.run()
    with average.apply(exe):
        np.testing.assert_allclose(held(w), (0.5 * 0.25 + 0.25 * 0.5) / 0.75, rtol=1e-6)
    assert held(w) == 0.25


def test_need_restore_false_keeps_the_average_until_restore():
    w, _ = build()
    average = paddle.static.ExponentialMovingAverage(0.5)
    average.update()
    exe = start()
    exe.run()
    exe.run()
    with average.apply(exe, need_restore=False):
        pass
    assert held(w) != 0.25
    average.restore(exe)
    assert held(w) == 0.25


def test_before_the_first_update_the_average_is_zero_as_it_started():
    w, _ = build()
    average = paddle.static.ExponentialMovingAverage(0.5)
    average.update()
    exe = start()
    with average.apply(exe):
        assert held(w) == 0.0
    assert held(w) == 1.0


def test_a_scheduled_decay():
    build()
    steps = paddle.static.create_global_var([1], 2.0, "float32", persistable=True)
    average = paddle.static.ExponentialMovingAverage(0.9, thres_steps=steps)
    average.update()
    exe = start()
    exe.run()
    decay = np.array(paddle.static.global_scope().find_var("scheduled_ema_decay_rate").get_tensor())
    np.testing.assert_allclose(decay, [3.0 / 12.0], rtol=1e-6)
    steps.set_value(np.array([1e6], "float32"))
    exe.run()
    decay = np.array(paddle.static.global_scope().find_var("scheduled_ema_decay_rate").get_tensor())
    np.testing.assert_allclose(decay, [0.9], rtol=1e-6)


def test_parameters_can_be_left_out_of_averages():
    build()
    attr = paddle.ParamAttr(name="kept", do_model_average=False)
    paddle.static.create_parameter([1], "float32", attr=attr)
    average = paddle.static.ExponentialMovingAverage(0.5)
    written = {n for o in average.apply_program.global_block().ops for n in o.output_arg_names}
    assert "w" in written
    assert "kept" not in written


def test_restore_without_apply_says_what_is_missing():
    build()
    average = paddle.static.ExponentialMovingAverage(0.5)
    average.update()
    with pytest.raises(ProgramError, match="ema_tmp"):
        average.restore(start())


def test_averages_need_static_mode_and_an_executor():
    build()
    average = paddle.static.ExponentialMovingAverage()
    with pytest.raises(BadArgument, match="Executor"), average.apply(None):
        pass
    paddle.disable_static()
    with pytest.raises(UsageError, match="enable_static"):
        paddle.static.ExponentialMovingAverage()
    paddle.enable_static()


def test_a_model_average_of_chosen_parameters():
    w, loss = build()
    average = paddle.incubate.ModelAverage(
        0.5, parameters=[w], min_average_window=10, max_average_window=20
    )
    assert average.minimize(loss) is None
    exe = start()
    for _ in range(2):
        exe.run()
    with average.apply(exe):
        assert held(w) == (0.5 + 0.25) / 2
    assert held(w) == 0.25
    with average.apply(exe, need_restore=False):
        pass
    average.restore(exe)
    assert held(w) == 0.25
    with pytest.raises(BadArgument, match="Executor"):
        average.restore()


def test_slow_weights_follow_every_kth_run():
    w = paddle.static.create_parameter([1], "float32", default_initializer=Constant(1.0))
    inner = paddle.optimizer.SGD(0.25)
    _, pairs = paddle.incubate.LookAhead(inner, alpha=0.5, k=2).minimize((w * w).sum())
    assert [p.name for p, _ in pairs] == [w.name]
    exe = start()
    seen = []
    for _ in range(3):
        exe.run()
        seen.append(held(w))
    # Slow weights start at 0.5, after the first run; at the second they meet the fast ones, 0.25,
    # half way.
    np.testing.assert_allclose(seen, [0.5, 0.375, 0.1875], rtol=1e-6)


def test_averages_in_a_clone_for_testing_are_gone():
    build()
    average = paddle.static.ExponentialMovingAverage(0.5)
    average.update()
    types = [
        o.type for o in paddle.static.default_main_program().clone(for_test=True).global_block().ops
    ]
    assert types == ["elementwise_mul", "reduce_sum"]
