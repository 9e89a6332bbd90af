"""Merged gradients: updates at every k-th run."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import BadArgument, NotSupported, ProgramError
from argosy.static.files import programs
from paddle.incubate.optimizer.gradient_merge import GradientMergeOptimizer


def build(optimizer, **options):
    x = paddle.static.data("x", [None, 1])
    attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(1.0))
    w = paddle.static.create_parameter([1], "float32", attr=attr)
    loss = (x * w).sum()
    result = GradientMergeOptimizer(optimizer, **options).minimize(loss)
    paddle.static.Executor().run(paddle.static.default_startup_program())
    return w, loss, result


def run(value, *fetches, program=None):
    feed = {"x": np.array([[value]], "float32")}
    return paddle.static.Executor().run(program, feed=feed, fetch_list=list(fetches))


def held(variable):
    return float(np.array(variable.get_value())[0])


@pytest.mark.parametrize(("avg", "expected"), [(True, 1.0 - 0.3), (False, 1.0 - 0.6)])
def test_parameters_change_at_every_kth_run_only(avg, expected):
    w, _, _ = build(paddle.optimizer.SGD(0.1), k_steps=2, avg=avg)
    seen = []
    for value in (2.0, 4.0, 100.0):
        run(value)
        seen.append(held(w))
    assert seen[0] == 1.0
    np.testing.assert_allclose(seen[1:], [expected] * 2, rtol=1e-6)


def test_state_is_kept_under_paddles_names():
    build(paddle.optimizer.SGD(0.1), k_steps=3)
    scope = paddle.static.global_scope()
    run(2.0)
    run(5.0)
    assert np.array(scope.find_var("w@GRAD@GradientMerge").get_tensor()).tolist() == [7.0]
    assert np.array(scope.find_var("gradient_merge_step").get_tensor()).tolist() == [2]
    run(1.0)
    assert np.array(scope.find_var("w@GRAD@GradientMerge").get_tensor()).tolist() == [0.0]
    assert np.array(scope.find_var("gradient_merge_step").get_tensor()).tolist() == [0]


def test_steps_of_adam_count_updates():
    build(paddle.optimizer.Adam(0.1, beta1=0.5), k_steps=2)
    for _ in range(4):
        run(1.0)
    power = np.array(paddle.static.global_scope().find_var("w_beta1_pow_acc_0").get_tensor())
    assert power == 0.5**3


def test_clip_and_decay_are_conditional_too():
    clip = paddle.nn.ClipGradByNorm(0.5)
    w, _, (operators, pairs) = build(
        paddle.optimizer.SGD(0.1, weight_decay=0.1, grad_clip=clip), k_steps=2
    )
    assert [p.name for p, _ in pairs] == ["w"]
    assert operators
    assert all("only_if" in operator.kwargs for operator in operators)
    run(3.0)
    assert held(w) == 1.0
    run(3.0)
    np.testing.assert_allclose(held(w), 1.0 - 0.1 * (0.5 + 0.1), rtol=1e-6)


def test_a_saved_and_a_copied_program_keep_the_condition():
    w, _, _ = build(paddle.optimizer.SGD(0.1), k_steps=2)
    main = paddle.static.default_main_program()
    again, _ = programs.loads(programs.dumps(main), "bytes")
    for program in (main.clone(), again):
        program.verify()
        before = held(w)
        run(1.0, program=program)
        assert held(w) == before
        run(1.0, program=program)
        assert held(w) != before
    assert not [o for o in main.clone(for_test=True).global_block().ops if "only_if" in o.kwargs]
    assert "only_if" in str(main)


@pytest.mark.parametrize("make", [paddle.optimizer.SGD, paddle.optimizer.Adam])
def test_loss_scaling_inside_updates_when_it_is_time_and_gradients_are_finite(make):
    lists = paddle.static.amp.CustomOpLists(custom_black_list=["elementwise_mul", "reduce_sum"])
    scaled = paddle.static.amp.decorate(
        make(0.1), lists, init_loss_scaling=4.0, incr_every_n_steps=1
    )
    w, _, _ = build(scaled, k_steps=2)
    scope = paddle.static.global_scope()
    seen = []
    for value in (1.0, 1.0, 1.0, np.inf, 1.0, 1.0):
        run(value)
        seen.append(
            (round(held(w), 4), float(np.array(scope.find_var("loss_scaling_0").get_tensor())[0]))
        )
    assert [scale for _, scale in seen] == [4.0, 8.0, 8.0, 4.0, 4.0, 8.0]
    assert [weight for weight, _ in seen] == [1.0, 0.9, 0.9, 0.9, 0.9, 0.8]


def test_loss_scaling_outside():
    inner = GradientMergeOptimizer(paddle.optimizer.SGD(0.1), k_steps=2)
    lists = paddle.static.amp.CustomOpLists(custom_black_list=["elementwise_mul", "reduce_sum"])
    x = paddle.static.data("x", [None, 1])
    w = paddle.static.create_parameter(
        [1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    paddle.static.amp.decorate(inner, lists, init_loss_scaling=4.0).minimize((x * w).sum())
    paddle.static.Executor().run(paddle.static.default_startup_program())
    for value in (2.0, np.inf):
        run(value)
    np.testing.assert_allclose(held(w), 1.0 - 0.1, rtol=1e-6)  # the mean of 2 and 0


@pytest.mark.parametrize(
    ("inner", "k_steps", "message"),
    [(paddle.optimizer.SGD, 0, "k_steps"), (lambda rate: None, 1, "inner optimizer")],
    ids=["no steps", "no optimizer"],
)
def test_merging_refuses(inner, k_steps, message):
    with pytest.raises(BadArgument, match=message):
        GradientMergeOptimizer(inner(0.1), k_steps=k_steps)


def test_merging_needs_static_mode():
    paddle.disable_static()
    with pytest.raises(NotSupported, match="dynamic mode"):
        GradientMergeOptimizer(paddle.optimizer.SGD(0.1, parameters=[]))


def test_fetching_what_only_the_update_computes_says_why_there_is_none():
    clipped = paddle.optimizer.SGD(0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    build(clipped, k_steps=2)
    main = paddle.static.default_main_program()
    name = next(
        o.output_arg_names[0]
        for o in main.global_block().ops
        if o.type == "clip_grads_by_global_norm"
    )
    with pytest.raises(
        ProgramError,
        match=rf"fetch_list reads '{name}', which has no value in this run: operator \d+",
    ):
        run(4.0, name)
    assert run(8.0, name)[0].tolist() == [1.0]  # the mean of 4 and 8, clipped
