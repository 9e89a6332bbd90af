"""Powers of beta: variables of programs, with one value for each parameter, in scopes and files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import paddle

FEED = {"x": np.ones((2, 3), "float32")}
NAMES = ("fc_0.w_0", "fc_0.b_0")


def build(optimizer):
    x = paddle.static.data("x", [None, 3])
    loss = paddle.static.nn.fc(x, 2).mean()
    optimizer.minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe, loss


def held(name):
    return paddle.static.global_scope().find_var(name).get_tensor()


def powers(beta="beta1"):
    return [np.array(held(f"{name}_{beta}_pow_acc_0")).tolist()[0] for name in NAMES]


OPTIMIZERS = {
    "adam": (lambda: paddle.optimizer.Adam(0.1, beta1=0.8), {"beta1": 0.8, "beta2": 0.999}),
    "adamw": (lambda: paddle.optimizer.AdamW(0.1), {"beta1": 0.9, "beta2": 0.999}),
    "adamax": (lambda: paddle.optimizer.Adamax(0.1), {"beta1": 0.9}),
    "lamb": (lambda: paddle.optimizer.Lamb(0.1), {"beta1": 0.9, "beta2": 0.999}),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_powers_are_kept_variables_that_files_hold_and_loading_restores(kind, tmp_path):
    make, betas = OPTIMIZERS[kind]
    exe, _ = build(make())
    main, prefix = paddle.static.default_main_program(), str(tmp_path / "model")
    names = {f"{name}_{beta}_pow_acc_0" for name in NAMES for beta in betas}
    kept = {v.name: v for v in main.list_vars() if v.persistable}
    assert {name for name in kept if "pow_acc" in name} == names
    assert all(kept[name].shape == [1] for name in names)
    for _ in range(4):
        exe.run(feed=FEED)
    paddle.static.save(main, prefix)
    state = paddle.static.load_program_state(prefix)
    assert set(state) == set(kept)
    for beta, value in betas.items():
        np.testing.assert_allclose(powers(beta), [value**5] * 2, rtol=1e-6)
    exe.run(feed=FEED)
    for beta, value in betas.items():
        np.testing.assert_allclose(powers(beta), [value**6] * 2, rtol=1e-6)
    paddle.static.load(main, prefix)
    for name in names:
        np.testing.assert_array_equal(np.array(held(name)), state[name])


@pytest.mark.parametrize("filename", [None, "all"])
def test_files_of_variables_hold_what_the_program_keeps(filename, tmp_path):
    exe, _ = build(paddle.optimizer.Adam(0.1))
    exe.run(feed=FEED)
    main = paddle.static.default_main_program()
    kept = {v.name: np.array(held(v.name)) for v in main.list_vars() if v.persistable}
    paddle.distributed.io.save_persistables(exe, str(tmp_path), main, filename)
    if filename is None:
        assert {path.name for path in tmp_path.iterdir()} == set(kept)
    for name, value in kept.items():
        held(name).set(np.zeros_like(value))
    assert powers() == [0.0, 0.0]
    variables = [v for v in main.list_vars() if v.persistable]
    paddle.static.load(main, str(tmp_path / (filename or "")), exe, variables)
    for name, value in kept.items():
        np.testing.assert_array_equal(np.array(held(name)), value)


def test_set_program_state_takes_all_that_was_saved_without_a_warning(tmp_path):
    exe, _ = build(paddle.optimizer.Adam(0.1))
    exe.run(feed=FEED)
    main, prefix = paddle.static.default_main_program(), str(tmp_path / "model")
    paddle.static.save(main, prefix)
    state = paddle.static.load_program_state(prefix)
    before = powers()
    exe.run(feed=FEED)
    assert powers() != before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paddle.static.set_program_state(main, state)
    assert powers() == before


def test_one_parameter_may_be_at_another_step_than_the_others():
    exe, _ = build(paddle.optimizer.Adam(0.1, beta1=0.5))
    exe.run(feed=FEED)
    assert powers() == [0.25, 0.25]
    held("fc_0.w_0_beta1_pow_acc_0").set(np.array([0.5], "float32"))
    assert powers() == [0.5, 0.25]
    exe.run(feed=FEED)
    assert powers() == [0.25, 0.125]
    held("fc_0.w_0_beta1_pow_acc_0").set(np.array([0.125], "float32"))
    exe.run(feed=FEED)
    assert powers() == [0.0625, 0.0625]
    held("fc_0.b_0_beta1_pow_acc_0")._set_float_element(0, 1.0)
    assert powers() == [0.0625, 1.0]


def test_a_program_that_updates_one_of_two_parameters_leaves_the_power_of_the_other():
    x = paddle.static.data("x", [None, 3])
    loss = paddle.static.nn.fc(x, 2).mean()
    paddle.optimizer.Adam(0.1, beta1=0.5).minimize(loss)
    both = paddle.static.default_main_program()
    one = both.clone()
    [update] = [o for o in one.global_block().ops if o.type == "adam"]
    update.args = tuple([a[0]] if isinstance(a, list) and a else a for a in update.args)
    update.out = update.out[:1]
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    exe.run(both, feed=FEED)
    exe.run(one, feed=FEED)
    assert powers() == [0.125, 0.25]
    exe.run(both, feed=FEED)
    assert powers() == [0.0625, 0.125]


def test_parameters_in_float64_keep_exact_powers(tmp_path):
    w = paddle.static.create_parameter([2], "float64", name="w")
    paddle.optimizer.Adam(0.1).minimize((w * w).sum())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    exe.run()
    prefix = str(tmp_path / "model")
    paddle.static.save(paddle.static.default_main_program(), prefix)
    state = paddle.static.load_program_state(prefix)
    assert state["w_beta1_pow_acc_0"].dtype == np.float64
    assert state["w_beta1_pow_acc_0"][0] == 0.9 * 0.9
