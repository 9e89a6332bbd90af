"""Subclasses that append their update for one parameter at a time, as Paddle's own do."""

from __future__ import annotations

import numpy as np
import pytest

import paddle


class Averaged(paddle.optimizer.Momentum):
    """Momentum written with tensor functions."""

    def _append_optimize_op(self, block, param_and_grad):
        param, grad = param_and_grad
        velocity = self._get_accumulator(self._velocity_acc_str, param)
        following = self._momentum * velocity + grad
        paddle.assign(following, velocity)
        paddle.assign(param - self._create_param_lr(param_and_grad) * following, param)


class OwnState(paddle.optimizer.Optimizer):
    """A rule with an accumulator of its own."""

    finished = 0

    def _create_accumulators(self, block, parameters):
        for param in parameters:
            self._add_accumulator("seen", param, fill_value=1.0, shape=[1])

    def _append_optimize_op(self, block, param_and_grad):
        param, grad = param_and_grad
        seen = self._get_accumulator("seen", param)
        paddle.assign(param - self._create_param_lr(param_and_grad) * grad * seen, param)
        paddle.assign(seen * 2.0, seen)

    def _finish_update(self, block, parameters_and_grads):
        self.finished += 1


def trained(optimizer, **settings):
    """A parameter after three steps."""
    weight = paddle.create_parameter([2], "float32")
    weight.set_value(np.array([1.0, -2.0], "float32"))
    weight.optimize_attr = {"learning_rate": 0.5}
    rule = optimizer(0.1, parameters=[weight], **settings)
    for _ in range(3):
        (weight * weight).sum().backward()
        rule.step()
        rule.clear_grad()
    return weight.numpy(), rule


def recorded(optimizer, **settings):
    """The same in a program."""
    value = paddle.nn.initializer.Assign(np.array([1.0, -2.0], "float32"))
    attr = paddle.ParamAttr(learning_rate=0.5)
    weight = paddle.create_parameter([2], "float32", attr=attr, default_initializer=value)
    rule = optimizer(0.1, **settings)
    rule.minimize((weight * weight).sum())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    for _ in range(3):
        [out] = exe.run(fetch_list=[weight])
    return out, rule


def test_a_step_is_the_appended_one():
    settings = {"weight_decay": 0.01, "grad_clip": paddle.nn.ClipGradByNorm(1.5)}
    np.testing.assert_allclose(
        trained(Averaged, **settings)[0], trained(paddle.optimizer.Momentum, **settings)[0], 1e-6
    )


def test_accumulators_of_its_own_last():
    value, rule = trained(OwnState)
    expected = np.array([1.0, -2.0])
    for seen in (1, 2, 4):
        expected = expected - 0.05 * 2 * expected * seen
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert rule.finished == 3
    with pytest.raises(ValueError, match="other does not exist"):
        rule._get_accumulator("other", rule._parameter_list[0])


@pytest.mark.usefixtures("static_mode")
def test_a_program_has_the_appended_update():
    settings = {"weight_decay": 0.01, "grad_clip": paddle.nn.ClipGradByNorm(1.5)}
    mine, _ = recorded(Averaged, **settings)
    theirs, _ = recorded(paddle.optimizer.Momentum, **settings)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    value, rule = recorded(OwnState)
    paddle.disable_static()
    np.testing.assert_allclose(value, trained(OwnState)[0], rtol=1e-6)
    assert rule.finished == 1
    paddle.enable_static()


@pytest.mark.usefixtures("static_mode")
def test_accumulators_of_a_program_are_its_variables():
    _, rule = recorded(paddle.optimizer.Momentum)
    [[name, velocity]] = rule._accumulators["velocity"].items()
    assert velocity.name == f"{name}_velocity_0"
    rule._accumulators = {}
    assert rule._accumulators == {}


@pytest.mark.usefixtures("static_mode")
def test_a_rate_of_its_own_is_a_scale_operator():
    weight = paddle.create_parameter([2], "float32", attr=paddle.ParamAttr(learning_rate=1.1))
    operators, _ = paddle.optimizer.SGD(0.1).minimize(weight.sum())
    assert [operator.type for operator in operators] == ["scale", "sgd"]


@pytest.mark.usefixtures("static_mode")
@pytest.mark.parametrize(("kind", "types"), [("L2Decay", []), ("L1Decay", ["sign"])])
def test_penalties_are_added_in_the_program_of_the_parameter(kind, types):
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        decay = getattr(paddle.regularizer, kind)(0.5)
        weight = paddle.create_parameter([2], "float32", attr=paddle.ParamAttr(regularizer=decay))
        pairs = paddle.static.append_backward(weight.sum())
    done = len(program.global_block().ops)
    rule = paddle.optimizer.Adam()
    [(param, grad)] = rule.append_regularization_ops(pairs)
    assert param is weight
    assert grad is not pairs[0][1]
    added = program.global_block().ops[done:]
    assert [operator.type for operator in added[:-1]] == [*types, "scale"]
    assert added[-1].output_arg_names == [grad.name]


@pytest.mark.usefixtures("static_mode")
def test_betas_may_be_variables():
    x = paddle.static.data("x", [2, 3])
    loss = paddle.static.nn.fc(x, 1).mean()
    betas = [paddle.static.create_global_var([1], v, "float32", True) for v in (0.5, 0.75)]
    paddle.optimizer.Adam(0.1, *betas).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    weight = paddle.static.default_main_program().all_parameters()[0]
    moment = next(n for n in weight.block.vars if "moment1" in n)
    grad, made = exe.run(feed={"x": np.ones([2, 3], "float32")}, fetch_list=[weight.grad, moment])
    np.testing.assert_allclose(made, 0.5 * grad, rtol=1e-6)
