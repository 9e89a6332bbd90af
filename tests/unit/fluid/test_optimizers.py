"""``fluid.optimizer`` in dygraph: what golden data does not show."""

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid


@pytest.fixture(autouse=True)
def guard():
    with fluid.dygraph.guard():
        yield


def backward(*layers):
    total = None
    for layer in layers:
        loss = fluid.layers.reduce_sum(layer(fluid.dygraph.to_variable(np.ones([1, 2], "float32"))))
        total = loss if total is None else total + loss
    total.backward()
    return total


def linear(**kwargs):
    kwargs.setdefault("param_attr", fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0)))
    return fluid.dygraph.Linear(2, 1, bias_attr=False, **kwargs)


class TestWithoutParameterList:
    def test_updates_what_the_guard_holds(self):
        first = linear()
        sgd = fluid.optimizer.SGDOptimizer(0.5)
        second = linear()
        ops, pairs = sgd.minimize(backward(first, second))
        assert ops == []
        assert [p.name for p, _ in pairs] == [first.weight.name, second.weight.name]
        assert first.weight.tolist() == second.weight.tolist() == [[0.5], [0.5]]
        sgd.clear_gradients()
        assert first.weight.gradient().tolist() == [[0.0], [0.0]]

    def test_leaves_others_and_frozen_ones_alone(self):
        other = linear()
        with fluid.dygraph.guard():
            own, frozen = (
                linear(),
                linear(param_attr=fluid.ParamAttr(name="frozen", trainable=False)),
            )
            before = frozen.weight.tolist()
            loss = backward(own, frozen, other)
            fluid.optimizer.SGD(0.5).minimize(loss)
            assert frozen.weight.tolist() == before
            assert own.weight.tolist() == [[0.5], [0.5]]
        assert other.weight.tolist() == [[1.0], [1.0]]

    def test_keeps_its_state_when_parameters_come_later(self):
        momentum = fluid.optimizer.Momentum(1.0, 0.5)
        first = linear()
        momentum.minimize(backward(first))
        momentum.clear_gradients()
        second = linear()
        momentum.minimize(backward(first, second))
        assert first.weight.tolist() == [[-1.5], [-1.5]]  # 1 - 1 - (0.5 + 1)
        assert second.weight.tolist() == [[0.0], [0.0]]

    def test_needs_a_guard(self):
        fluid.dygraph.base.tracers.pop()
        try:
            adam = fluid.optimizer.Adam()  # may be for a program
            layer = linear()
            loss = backward(layer)
            with pytest.raises(AttributeError, match="parameter_list"):
                adam.minimize(loss)
            with pytest.raises(AttributeError, match="parameter_list"):
                adam.step()
        finally:
            fluid.dygraph.base.tracers.push(fluid.dygraph.base.Tracer())


def test_minimize_of_chosen_parameters():
    first, second = linear(), linear()
    sgd = fluid.optimizer.SGD(0.5, parameter_list=[first.weight, second.weight])
    sgd.minimize(backward(first, second), parameter_list=[first.weight])
    assert first.weight.tolist() == [[0.5], [0.5]]
    assert second.weight.tolist() == [[1.0], [1.0]]


def test_param_attr_scales_the_rate_and_replaces_the_decay():
    attr = fluid.ParamAttr(
        initializer=fluid.initializer.Constant(1.0),
        learning_rate=0.5,
        regularizer=fluid.regularizer.L2Decay(1.0),
    )
    layer = linear(param_attr=attr)
    sgd = fluid.optimizer.SGD(
        0.5, parameter_list=layer.parameters(), regularization=fluid.regularizer.L2Decay(100.0)
    )
    sgd.minimize(backward(layer))
    assert layer.weight.tolist() == [[0.5], [0.5]]  # 1 - 0.25 * (1 + 1)


def test_a_schedule_takes_one_step_per_minimize():
    layer = linear()
    rate = fluid.dygraph.PiecewiseDecay([1, 2], [0.5, 0.25, 0.125], 0)
    sgd = fluid.optimizer.SGD(rate, parameter_list=layer.parameters())
    assert sgd.current_step_lr() == 0.5
    seen = []
    for _ in range(3):
        sgd.minimize(backward(layer))
        layer.clear_gradients()
        seen.append((sgd.current_step_lr(), rate.step_num))
    assert seen == [(0.5, 1), (0.25, 2), (0.125, 3)]
    assert layer.weight.tolist() == [[0.125], [0.125]]


def test_functions_of_layers_give_schedules():
    layers = fluid.layers
    for made, expected in (
        (layers.piecewise_decay([1], [0.5, 0.25]), 0.5),
        (layers.exponential_decay(0.5, 1, 0.5), 0.5),
        (layers.natural_exp_decay(0.5, 1, 0.5), 0.5),
        (layers.inverse_time_decay(0.5, 1, 0.5), 0.5),
        (layers.polynomial_decay(0.5, 10), 0.5),
        (layers.cosine_decay(0.5, 1, 10), 0.5),
        (layers.noam_decay(4, 1), 0.5),
        (layers.linear_lr_warmup(0.5, 2, 0.0, 0.5), 0.25),
    ):
        rate = made()
        assert rate.shape == [1]
        assert rate.item() == pytest.approx(expected), type(made)


def test_adadelta_has_no_learning_rate():
    results = []
    for rate in (0.1, 1.0):
        layer = linear()
        fluid.optimizer.Adadelta(rate, parameter_list=layer.parameters()).minimize(backward(layer))
        results.append(layer.weight.tolist())
    assert results[0] == results[1]
    # sqrt(1e-6 / (0.05 + 1e-6)) is the first step
    assert results[0][0][0] == pytest.approx(1 - np.sqrt(1e-6 / (0.05 + 1e-6)), abs=1e-6)


def test_lamb_excludes_by_function():
    layer = linear()
    lamb = fluid.optimizer.LambOptimizer(
        0.1,
        lamb_weight_decay=0.5,
        parameter_list=layer.parameters(),
        exclude_from_weight_decay_fn=lambda p: True,
    )
    plain = linear()
    reference = fluid.optimizer.LambOptimizer(
        0.1, lamb_weight_decay=0.0, parameter_list=plain.parameters()
    )
    lamb.minimize(backward(layer))
    reference.minimize(backward(plain))
    assert layer.weight.tolist() == plain.weight.tolist() != [[1.0], [1.0]]


def test_a_schedule_of_2_x_is_refused():
    with pytest.raises(TypeError, match="LearningRateDecay"):
        fluid.optimizer.SGD(
            paddle.optimizer.lr.NoamDecay(1, 1), parameter_list=linear().parameters()
        )


def test_a_loss_that_is_a_number_is_refused():
    with pytest.raises(AssertionError, match="loss"):
        fluid.optimizer.SGD(0.1, parameter_list=linear().parameters()).minimize(3.0)


def test_a_state_dict_without_the_schedule_is_refused():
    rate = fluid.dygraph.NoamDecay(1, 1)
    with pytest.raises(AssertionError, match="LR_Scheduler"):
        fluid.optimizer.SGD(rate, parameter_list=linear().parameters()).set_dict({})
    with pytest.raises(RuntimeError, match="step_num"):
        fluid.dygraph.NoamDecay(1, 1).set_dict({})
