"""Gradients and optimizers in programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, ProgramError, UsageError

F = paddle.nn.functional
Constant = paddle.nn.initializer.Constant


def parameter(name, value, shape=(2,), **attr):
    return paddle.static.create_parameter(
        list(shape),
        "float32",
        attr=paddle.ParamAttr(name=name, initializer=Constant(value), **attr),
    )


def run(*fetches, feed=None):
    return paddle.static.Executor().run(feed=feed, fetch_list=list(fetches))


def start():
    paddle.static.Executor().run(paddle.static.default_startup_program())


def test_gradients_of_parameters_and_of_variables_on_the_way():
    w = parameter("w", 3.0)
    square = w * w
    loss = square.sum()
    pairs = paddle.static.append_backward(loss)
    assert [(p.name, g.name) for p, g in pairs] == [("w", "w@GRAD")]
    assert w.grad is pairs[0][1]
    operator = paddle.static.default_main_program().global_block().ops[-1]
    assert operator.input("targets") == [loss.name]
    assert "w" in operator.input("inputs")
    start()
    of_w, of_square, of_loss = run("w@GRAD", f"{square.name}@GRAD", "sum_0.tmp_0@GRAD")
    np.testing.assert_array_equal(of_w, [6.0, 6.0])
    np.testing.assert_array_equal(of_square, [1.0, 1.0])
    assert of_loss == 1.0


def test_only_gradients_that_are_read_are_computed():
    w = parameter("w", 3.0)
    paddle.static.append_backward((w * w).sum())
    start()
    run("w@GRAD")
    [lowered] = paddle.static.default_main_program().lowered.values()
    assert lowered.source.count("gradients_of") == 1
    assert "unshared" in lowered.source


def test_chosen_parameters_and_excluded_ones():
    a, b, c = parameter("a", 1.0), parameter("b", 2.0), parameter("c", 3.0, trainable=False)
    loss = (a * b * c).sum()
    assert [p.name for p, _ in paddle.static.append_backward(loss, parameter_list=["b"])] == ["b"]
    assert [p.name for p, _ in paddle.static.append_backward(loss, no_grad_set={"a"})] == ["b"]
    assert [p.name for p, _ in paddle.static.append_backward(loss)] == ["a", "b"]


def test_no_grad_set_stops_gradients_on_the_way():
    w = parameter("w", 2.0)
    inner = w * w
    loss = (inner * w).sum()
    [(_, grad)] = paddle.static.append_backward(loss, no_grad_set={inner.name})
    start()
    np.testing.assert_array_equal(run(grad)[0], [4.0, 4.0])


@pytest.mark.parametrize("how", ["no_grad", "detach", "stop_gradient"])
def test_gradients_stop_where_asked(how):
    w = parameter("w", 2.0)
    if how == "no_grad":
        with paddle.no_grad():
            inner = w * w
    elif how == "detach":
        inner = (w * w).detach()
    else:
        inner = w * w
        inner.stop_gradient = True
    [(_, grad)] = paddle.static.append_backward((inner * w).sum())
    start()
    np.testing.assert_array_equal(run(grad)[0], [4.0, 4.0])


def test_gradients_of_inputs():
    x = paddle.static.data("x", [None, 2])
    x.stop_gradient = False
    unrelated = paddle.static.data("unrelated", [2])
    y = x * x
    seed = paddle.static.data("seed", [None, 2])
    grad, nothing = paddle.static.gradients([y], [x, unrelated], target_gradients=[seed])
    assert nothing is None
    assert grad.shape == [-1, 2]
    array = np.array([[1.0, 2.0]], "float32")
    [value] = run(grad, feed={"x": array, "seed": 10 * array, "unrelated": np.ones(2, "float32")})
    np.testing.assert_array_equal(value, [[20.0, 80.0]])


def test_gradients_of_gradients():
    x = paddle.static.data("x", [2])
    x.stop_gradient = False
    [first] = paddle.static.gradients((x * x * x).sum(), x)
    [second] = paddle.static.gradients(first.sum(), x)
    values = run(first, second, feed={"x": np.array([1.0, 2.0], "float32")})
    np.testing.assert_allclose(values[0], [3.0, 12.0])
    np.testing.assert_allclose(values[1], [6.0, 12.0])


def test_wrong_losses():
    w = parameter("w", 1.0)
    with pytest.raises(ProgramError, match=r"must have one element, but its shape is \[2\]"):
        paddle.static.append_backward(w * 2.0)
    assert paddle.static.append_backward(paddle.static.data("x", [2]).sum()) == []
    for wrong in ({"parameter_list": "w"}, {"parameter_list": [3]}, {"no_grad_set": "w"}):
        with pytest.raises(TypeError):
            paddle.static.append_backward(w.sum(), **wrong)
    with pytest.raises(TypeError, match="loss must be a Variable"):
        paddle.static.append_backward(3.0)
    with pytest.raises(UsageError, match="2 targets, but 1 target_gradients"):
        paddle.static.gradients([w, w], [w], [w])


def test_minimize_returns_operators_and_pairs():
    w = parameter("w", 1.0)
    operators, pairs = paddle.optimizer.Momentum(0.5, 0.9).minimize((w * w).sum())
    assert [o.type for o in operators] == ["momentum"]
    assert [(p.name, g.name) for p, g in pairs] == [("w", "w@GRAD")]
    startup = paddle.static.default_startup_program().global_block()
    assert {"learning_rate_0", "w_velocity_0"} <= set(startup.vars)
    start()
    run()
    np.testing.assert_array_equal(np.array(w.get_value()), [0.0, 0.0])
    np.testing.assert_array_equal(
        np.array(paddle.static.global_scope().find_var("w_velocity_0").get_tensor()), [2.0, 2.0]
    )


def test_startup_program_of_minimize():
    startup = paddle.static.Program()
    w = parameter("w", 1.0)
    paddle.optimizer.Adam(0.5).minimize((w * w).sum(), startup_program=startup)
    assert {"w_moment1_0", "w_moment2_0", "learning_rate_0"} <= set(startup.global_block().vars)
    assert "w_moment1_0" not in paddle.static.default_startup_program().global_block().vars


def test_backward_and_apply_gradients_apart():
    w = parameter("w", 1.0)
    optimizer = paddle.optimizer.SGD(0.5)
    pairs = optimizer.backward((w * w).sum())
    optimizer.apply_gradients([(p, g * 0.5) for p, g in pairs])
    start()
    run()
    np.testing.assert_array_equal(np.array(w.get_value()), [0.5, 0.5])


def test_only_the_parameters_of_the_optimizer_move():
    a, b = parameter("a", 1.0), parameter("b", 1.0)
    paddle.optimizer.SGD(0.5, parameters=[a]).minimize((a * b).sum())
    start()
    run()
    np.testing.assert_array_equal(np.array(a.get_value()), [0.5, 0.5])
    np.testing.assert_array_equal(np.array(b.get_value()), [1.0, 1.0])


def test_parameter_groups():
    a, b = parameter("a", 1.0), parameter("b", 1.0)
    groups = [{"params": [a]}, {"params": [b], "learning_rate": 0.1}]
    paddle.optimizer.SGD(0.5, parameters=groups).minimize((a + b).sum())
    start()
    run()
    np.testing.assert_array_equal(np.array(a.get_value()), [0.5, 0.5])
    np.testing.assert_allclose(np.array(b.get_value()), [0.95, 0.95])


def test_learning_rate_follows_scheduler_set_lr_and_scope():
    w = parameter("w", 0.0)
    schedule = paddle.optimizer.lr.PiecewiseDecay([1, 2], [1.0, 2.0, 4.0])
    paddle.optimizer.SGD(schedule).minimize(w.sum())
    assert paddle.static.default_main_program().lr_scheduler is schedule
    start()
    for expected in (-1.0, -3.0, -7.0):
        run()
        schedule.step()
        assert np.array(w.get_value())[0] == expected


def test_a_number_as_learning_rate_can_be_changed():
    w = parameter("w", 0.0)
    optimizer = paddle.optimizer.SGD(1.0)
    optimizer.minimize(w.sum())
    start()
    paddle.static.global_scope().find_var("learning_rate_0").get_tensor().set(
        np.array(3.0, "float32")
    )
    run()
    assert np.array(w.get_value())[0] == -3.0
    optimizer.set_lr(0.5)
    run()
    assert np.array(w.get_value())[0] == -3.5


@pytest.mark.parametrize("first", ["SGD", "Adagrad", "Adamax"])
def test_two_losses_in_one_program(first):
    a, b = parameter("a", 1.0), parameter("b", 1.0)
    getattr(paddle.optimizer, first)(0.5).minimize((a * a).sum(), parameters=[a])
    paddle.optimizer.SGD(0.25).minimize((b * b).sum(), parameters=[b])
    start()
    run()
    assert np.array(a.get_value()).max() < 1.0
    np.testing.assert_array_equal(np.array(b.get_value()), [0.5, 0.5])


def test_what_cannot_be_recorded():
    w = parameter("w", 1.0)
    loss = (w * w).sum()
    with pytest.raises(NotSupported, match="LBFGS"):
        paddle.optimizer.LBFGS(parameters=[w]).minimize(loss)
    with pytest.raises(NotSupported, match="callbacks"):
        paddle.static.append_backward(loss, callbacks=[print])


def test_where_nothing_trains_what_is_computed_from_data_has_gradients():
    x = paddle.static.data("x", [3])
    middle = F.relu(x)
    loss = (middle * middle).sum()
    [(variable, grad)] = paddle.static.append_backward(loss, parameter_list=[middle.name])
    assert variable is middle
    assert x.grad is None
    assert paddle.static.default_main_program().global_block().has_var(f"{middle.name}@GRAD")
    fed = np.array([1.0, 2.0, -1.0], "float32")
    out, found = run(loss, grad, feed={"x": fed})
    assert out == 5.0
    np.testing.assert_array_equal(found, [2.0, 4.0, 0.0])
    np.testing.assert_array_equal(fed, [1.0, 2.0, -1.0])


def test_sizes_that_only_a_run_tells_may_have_to_be_equal():
    x = paddle.static.data("x", [-1, 4])
    y = paddle.static.data("y", [-1, 4])
    half = paddle.reshape(x, [2, -1, 4])[0]
    out = half * y
    assert list(out.shape) == [-1, 4]
    ones = np.ones([6, 4], "float32")
    [found] = run(out, feed={"x": ones, "y": 2 * ones[:3]})
    np.testing.assert_array_equal(found, np.full([3, 4], 2.0))


def test_an_optimizer_applies_the_gradients_of_what_a_program_ends_in():
    w = parameter("w", 3.0)
    (w * w).sum()
    sgd = paddle.optimizer.SGD(0.5)
    operators, [(param, grad)] = paddle.autograd.backward_mode.gradients_with_optimizer(
        paddle.static.default_main_program(), sgd
    )
    assert [o.type for o in operators] == ["sgd"]
    assert (param.name, grad.name) == ("w", "w@GRAD")
    start()
    run()
    np.testing.assert_allclose(run(w)[0], [0.0, 0.0])
    with pytest.raises(TypeError, match="expected a Program and an Optimizer"):
        paddle.autograd.backward_mode.gradients_with_optimizer(sgd, sgd)


def test_gradients_end_at_a_result_of_which_they_are_wanted():
    """Nothing flows through ``zeros_like``, but the script asks for gradients of its result."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        x.stop_gradient = False
        y = x * x
        seed = paddle.zeros_like(y)
        seed.stop_gradient = False
        [first] = paddle.static.gradients(y, x, seed)
        [second] = paddle.static.gradients(first, seed, paddle.ones([2]))
    got = paddle.static.Executor().run(
        main, feed={"x": np.array([1.0, 3.0], "float32")}, fetch_list=[first, second]
    )
    assert [value.tolist() for value in got] == [[0.0, 0.0], [2.0, 6.0]]


def test_data_is_declared_only_while_programs_are_recorded():
    paddle.disable_static()
    with pytest.raises(AssertionError, match=r"call paddle.enable_static\(\) first"):
        paddle.static.data("a", [2, 25])
    paddle.enable_static()
