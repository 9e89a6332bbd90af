"""Update operators added by hand: a step of an optimizer with slots and attributes of Paddle's."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.fluid.op import Operator

PARAM = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], "float32")
GRAD = np.array([[0.5, 1.0, -2.0], [0.1, -0.3, 4.0]], "float32")
ZERO = np.zeros_like(PARAM)
RATE = np.array([0.1], "float32")


def run(type, inputs, outputs, **attrs):
    """The values of the variables of ``outputs`` after one operator, which overwrites them."""
    block = paddle.static.default_main_program().global_block()
    variables = {}
    for slot, array in inputs.items():
        variables[slot] = block.create_var(
            name=slot, shape=array.shape, dtype=str(array.dtype), persistable=True
        )
    block.append_op(
        type=type,
        inputs=variables,
        outputs={f"{slot}Out": variables[slot] for slot in outputs},
        attrs=attrs,
    )
    # it writes what it overwrites by itself
    assert "assign" not in [operator.type for operator in block.ops]
    return paddle.static.Executor().run(feed=inputs, fetch_list=list(outputs))


def stepped(optimizer):
    """The parameter after a step of an optimizer."""
    paddle.disable_static()
    try:
        param = paddle.create_parameter(list(PARAM.shape), "float32")
        param.set_value(PARAM)
        param.grad = paddle.to_tensor(GRAD)
        optimizer([param]).step()
        return param.numpy()
    finally:
        paddle.enable_static()


POWERS = {
    "Moment1": ZERO,
    "Moment2": ZERO,
    "Beta1Pow": np.array([0.9], "float32"),
    "Beta2Pow": np.array([0.999], "float32"),
}


@pytest.mark.parametrize(
    ("type", "states", "attrs", "optimizer"),
    [
        ("sgd", {}, {}, lambda p: paddle.optimizer.SGD(0.1, p)),
        (
            "momentum",
            {"Velocity": ZERO},
            {"mu": 0.9, "use_nesterov": True},
            lambda p: paddle.optimizer.Momentum(0.1, 0.9, p, use_nesterov=True),
        ),
        (
            "momentum",
            {"Velocity": ZERO},
            {"mu": 0.9, "regularization_method": "l2_decay", "regularization_coeff": 0.5},
            lambda p: paddle.optimizer.Momentum(0.1, 0.9, p, weight_decay=0.5),
        ),
        ("adam", POWERS, {}, lambda p: paddle.optimizer.Adam(0.1, parameters=p)),
        (
            "adamw",
            POWERS,
            {"coeff": 0.02, "with_decay": True},
            lambda p: paddle.optimizer.AdamW(0.1, parameters=p, weight_decay=0.02),
        ),
        (
            "lamb",
            POWERS,
            {"weight_decay": 0.01},
            lambda p: paddle.optimizer.Lamb(0.1, 0.01, parameters=p),
        ),
        ("adagrad", {"Moment": ZERO}, {}, lambda p: paddle.optimizer.Adagrad(0.1, parameters=p)),
        (
            "rmsprop",
            {"MeanSquare": ZERO, "Moment": ZERO, "MeanGrad": ZERO},
            {"epsilon": 1e-6, "decay": 0.95, "centered": True},
            lambda p: paddle.optimizer.RMSProp(0.1, centered=True, parameters=p),
        ),
        (
            "adadelta",
            {"AvgSquaredGrad": ZERO, "AvgSquaredUpdate": ZERO},
            {},
            lambda p: paddle.optimizer.Adadelta(0.1, parameters=p),
        ),
    ],
)
def test_makes_the_step_of_the_optimizer(type, states, attrs, optimizer):
    inputs = {"Param": PARAM, "Grad": GRAD, "LearningRate": RATE, **states}
    outputs = ["Param", *states]
    made, *_ = run(type, inputs, outputs, **attrs)
    np.testing.assert_allclose(made, stepped(optimizer), rtol=1e-5, atol=1e-6)


def test_adamax_leaves_its_power_to_another_operator():
    states = {"Moment": ZERO, "InfNorm": ZERO, "Beta1Pow": np.array([0.9], "float32")}
    inputs = {"Param": PARAM, "Grad": GRAD, "LearningRate": RATE, **states}
    made, *_ = run("adamax", inputs, ["Param", "Moment", "InfNorm"])
    expected = stepped(lambda p: paddle.optimizer.Adamax(0.1, parameters=p))
    np.testing.assert_allclose(made, expected, rtol=1e-5)


def test_powers_advance():
    inputs = {"Param": PARAM, "Grad": GRAD, "LearningRate": RATE, **POWERS}
    _, beta1, beta2 = run("adam", inputs, ["Param", "Beta1Pow", "Beta2Pow"])
    assert (beta1.item(), beta2.item()) == pytest.approx((0.81, 0.998001))


def test_merged_updates_are_those_of_the_single_ones():
    block = paddle.static.default_main_program().global_block()
    feed, slots = {}, {}
    for slot, arrays in {
        "Param": [PARAM, PARAM * 2],
        "Grad": [GRAD, -GRAD],
        "Velocity": [ZERO, ZERO + 1],
        "LearningRate": [RATE],
    }.items():
        for i, array in enumerate(arrays):
            name = f"{slot}{i}"
            feed[name] = array
            slots.setdefault(slot, []).append(
                block.create_var(name=name, shape=array.shape, dtype="float32", persistable=True)
            )
    outputs = {"ParamOut": slots["Param"], "VelocityOut": slots["Velocity"]}
    block.append_op("merged_momentum", slots, outputs, {"mu": 0.5})
    first, second = paddle.static.Executor().run(feed=feed, fetch_list=slots["Param"])
    np.testing.assert_allclose(first, PARAM - 0.1 * GRAD, rtol=1e-6)
    np.testing.assert_allclose(second, PARAM * 2 - 0.1 * (0.5 - GRAD), rtol=1e-6)


def test_low_precision_parameters_follow_their_masters():
    inputs = {
        "Param": PARAM.astype("float16"),
        "MasterParam": PARAM + np.float32(1e-4),
        "Grad": GRAD.astype("float16"),
        "LearningRate": RATE,
    }
    param, master = run("sgd", inputs, ["Param", "MasterParam"], multi_precision=True)
    expected = PARAM + np.float32(1e-4) - np.float32(0.1) * GRAD.astype("float16")
    np.testing.assert_allclose(master, expected, rtol=1e-6)
    assert param.dtype == np.float16
    assert (param == master.astype("float16")).all()


def test_lazy_adam_leaves_rows_without_a_gradient():
    scope = paddle.static.global_scope()
    for name, array in {"p": PARAM, "m": ZERO + 1, "v": ZERO + 1, "lr": RATE}.items():
        scope.var(name).get_tensor().set(array, paddle.CPUPlace())
    for name, beta in {"b1": 0.9, "b2": 0.999}.items():
        scope.var(name).get_tensor().set(np.array([beta], "float32"), paddle.CPUPlace())
    rows = scope.var("g").get_selected_rows()
    rows.set_height(2)
    rows.set_rows([1, 1])
    rows.get_tensor().set(GRAD, paddle.CPUPlace())
    Operator(
        "adam", Param="p", Grad="g", LearningRate="lr", Moment1="m", Moment2="v", Beta1Pow="b1",
        Beta2Pow="b2", ParamOut="p", Moment1Out="m", Moment2Out="v", Beta1PowOut="b1",
        Beta2PowOut="b2", lazy_mode=True,
    ).run(scope, paddle.CPUPlace())  # fmt: skip
    moment, param = (np.array(scope.find_var(name).get_tensor()) for name in "mp")
    assert (moment[0] == 1).all()
    assert (param[0] == PARAM[0]).all()
    np.testing.assert_allclose(moment[1], 0.9 + 0.1 * GRAD.sum(0), rtol=1e-5)
    assert (param[1] != PARAM[1]).all()


def test_centred_rmsprop_asks_for_its_mean():
    inputs = {"Param": PARAM, "Grad": GRAD, "LearningRate": RATE, "MeanSquare": ZERO}
    with pytest.raises(NotImplementedError, match="MeanGrad"):
        run("rmsprop", {**inputs, "Moment": ZERO}, ["Param"], centered=True)


def test_truncated_numbers_stay_within_two_deviations():
    block = paddle.static.default_main_program().global_block()
    out = block.create_var(name="out")
    attrs = {"shape": [10000], "mean": 1.0, "std": 2.0, "seed": 10}
    operator = block.append_op("truncated_gaussian_random", outputs={"Out": out}, attrs=attrs)
    operator.desc.infer_var_type(block.desc)
    operator.desc.infer_shape(block.desc)
    [drawn] = paddle.static.Executor().run(fetch_list=[out])
    assert np.abs(drawn - 1.0).max() <= 4.0
    assert np.var(drawn) == pytest.approx(4 * 0.773, rel=0.1)
