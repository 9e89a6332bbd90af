"""State dicts: names, round trips, what is refused; powers of beta."""

import numpy as np
import pytest

import paddle


def parameter(name=None, shape=(2,), dtype="float32"):
    constant = paddle.nn.initializer.Constant(1.0)
    return paddle.create_parameter(
        list(shape), dtype, attr=paddle.ParamAttr(name=name), default_initializer=constant
    )


def run(optimizer, *params, steps=1):
    for _ in range(steps):
        sum((p * p).sum() for p in params).backward()
        optimizer.step()
        optimizer.clear_grad()


def test_names_are_paddles():
    with paddle.utils.unique_name.guard():
        layer = paddle.nn.Linear(2, 1)
        adam = paddle.optimizer.Adam(0.1, parameters=layer.parameters())
        assert adam.state_dict() == {}
        layer(paddle.ones([1, 2])).sum().backward()
        adam.step()
    assert list(adam.state_dict()) == [
        "linear_0.w_0_moment1_0",
        "linear_0.b_0_moment1_0",
        "linear_0.w_0_moment2_0",
        "linear_0.b_0_moment2_0",
        "linear_0.w_0_beta1_pow_acc_0",
        "linear_0.b_0_beta1_pow_acc_0",
        "linear_0.w_0_beta2_pow_acc_0",
        "linear_0.b_0_beta2_pow_acc_0",
    ]
    assert adam.get_opti_var_name_list() == list(adam.state_dict())


def test_powers_follow_the_steps():
    w = parameter("w")
    adam = paddle.optimizer.Adam(0.1, beta1=0.5, parameters=[w])
    powers = []
    for _ in range(3):
        run(adam, w)
        powers.append(adam.state_dict()["w_beta1_pow_acc_0"].tolist())
    assert powers == [[0.25], [0.125], [0.0625]]


def test_loaded_state_waits_for_the_first_step():
    with paddle.utils.unique_name.guard():
        w = parameter("w")
        first = paddle.optimizer.Adam(0.1, parameters=[w])
        run(first, w, steps=4)
        state = {key: value.numpy() for key, value in first.state_dict().items()}
        value = w.numpy()
        run(first, w)
    with paddle.utils.unique_name.guard():
        again = parameter("w")
        again.set_value(value)
        second = paddle.optimizer.Adam(0.1, parameters=[again])
        second.set_state_dict(state)
        assert sorted(second.state_dict()) == sorted(state)
        run(second, again)
    np.testing.assert_allclose(again.numpy(), w.numpy(), rtol=1e-6)


def test_state_of_another_optimizer_is_refused_by_name():
    w = parameter("shared")
    first, second = (paddle.optimizer.Adam(0.1, parameters=[w]) for _ in range(2))
    run(first, w)
    run(second, w)
    with pytest.raises(AssertionError, match=r"shared_moment1_1 not found.*shared_moment1_0"):
        second.set_state_dict(first.state_dict())


def test_refused_state_changes_nothing():
    w = parameter("w")
    adam = paddle.optimizer.Adam(0.1, parameters=[w])
    run(adam, w)
    before = {key: value.numpy() for key, value in adam.state_dict().items()}
    broken = {key: value * 2 for key, value in before.items()}
    broken.pop(list(before)[-1])
    with pytest.raises(AssertionError):
        adam.set_state_dict(broken)
    for key, value in adam.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])


def test_state_of_another_shape_is_refused():
    w = parameter("w")
    momentum = paddle.optimizer.Momentum(0.1, parameters=[w])
    run(momentum, w)
    with pytest.raises(AssertionError, match=r"has shape \[3\] in the state dict, here \[2\]"):
        momentum.set_state_dict({"w_velocity_0": np.zeros(3, "float32")})


def test_scheduler_state_is_required():
    w = parameter()
    sgd = paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=[w])
    with pytest.raises(AssertionError, match="LR_Scheduler state must be included"):
        sgd.set_state_dict({})


def test_scheduler_state_of_lambda_may_be_missing():
    rate = paddle.optimizer.lr.LambdaDecay(0.1, lambda epoch: 0.5**epoch)
    sgd = paddle.optimizer.SGD(rate, parameters=[parameter()])
    rate.step()
    sgd.set_state_dict({})
    assert (sgd.get_lr(), rate.last_epoch) == (0.05, 1)


def test_masters_are_saved_and_loaded():
    with paddle.utils.unique_name.guard():
        w = parameter("w", dtype="bfloat16")
        adam = paddle.optimizer.Adam(1e-4, parameters=[w], multi_precision=True)
        run(adam, w, steps=3)
        state = adam.state_dict()
    master = state["master_weights"]["w"]
    assert master.name == "w_fp32_master_0"
    assert master.dtype == paddle.float32
    assert "w_fp32_master_0_moment1_0" in state
    assert 0.9996 < float(master[0]) < 0.9998  # three steps that bfloat16 could not hold
    assert w.astype("float32").tolist() == [1.0, 1.0]
    with paddle.utils.unique_name.guard():
        again = parameter("w", dtype="bfloat16")
        other = paddle.optimizer.Adam(1e-4, parameters=[again], multi_precision=True)
        other.set_state_dict(state)
        run(other, again)
        run(adam, w)
    np.testing.assert_array_equal(
        other._master_weights["w"].numpy(), adam._master_weights["w"].numpy()
    )


def test_low_precision_without_masters_updates_the_parameter():
    w = parameter("w16", dtype="bfloat16")
    adam = paddle.optimizer.Adam(0.5, parameters=[w])
    run(adam, w)
    assert w.dtype == paddle.bfloat16
    assert w.astype("float32").tolist() == [0.5, 0.5]
    assert adam.state_dict()["w16_moment1_0"].dtype == paddle.float32
    assert "master_weights" not in adam.state_dict()


def powers(optimizer, *names):
    state = optimizer.state_dict()
    return [float(state[f"{name}_beta1_pow_acc_0"]) for name in names]


def test_powers_are_multiplied_up_in_float32():
    w = parameter("w")
    adam = paddle.optimizer.Adam(0.1, beta1=0.9, parameters=[w])
    expected = np.float32(0.9)
    for _ in range(5):
        run(adam, w)
        expected *= np.float32(0.9)
        assert powers(adam, "w") == [float(expected)]


def test_powers_that_were_loaded_move_on_by_the_rate_of_now():
    with paddle.utils.unique_name.guard():
        w = parameter("w")
        adam = paddle.optimizer.Adam(0.1, beta1=0.9, parameters=[w])
        run(adam, w, steps=3)
        state = {k: v.numpy() for k, v in adam.state_dict().items()}
    with paddle.utils.unique_name.guard():
        again = parameter("w")
        other = paddle.optimizer.Adam(0.1, beta1=0.8, parameters=[again])
        other.set_state_dict(state)
        run(other, again)
    expected = state["w_beta1_pow_acc_0"] * 0.8
    np.testing.assert_array_equal(other.state_dict()["w_beta1_pow_acc_0"].numpy(), expected)


def test_parameters_may_have_taken_different_numbers_of_steps():
    a, b = parameter("a"), parameter("b")
    adam = paddle.optimizer.Adam(0.1, beta1=0.5, parameters=[a, b])
    run(adam, a, steps=2)
    run(adam, a, b)
    assert powers(adam, "a", "b") == [0.5**4, 0.5**2]
    run(adam, a, b)
    assert powers(adam, "a", "b") == [0.5**5, 0.5**3]


def test_a_power_in_a_state_dict_can_be_written_by_itself():
    a, b = parameter("a"), parameter("b")
    adam = paddle.optimizer.Adam(0.1, beta1=0.5, parameters=[a, b])
    run(adam, a, b)
    adam.state_dict()["a_beta1_pow_acc_0"].set_value(np.array([0.75], "float32"))
    assert powers(adam, "a", "b") == [0.75, 0.25]
    run(adam, a, b)
    assert powers(adam, "a", "b") == [0.375, 0.125]


def test_parameters_with_equal_powers_are_updated_by_one_call(monkeypatch):
    from argosy.ops.training import adam_updates

    calls = []
    update = adam_updates.adam_.fn
    monkeypatch.setattr(
        adam_updates.adam_, "fn", lambda p, *args: calls.append(len(p)) or update(p, *args)
    )
    a, b = parameter("a"), parameter("b")
    adam = paddle.optimizer.Adam(0.1, parameters=[a, b])
    run(adam, a, b)
    adam.state_dict()
    run(adam, a, b)
    assert calls == [2, 2]
