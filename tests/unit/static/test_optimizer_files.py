"""Step counts in files: powers of beta as Paddle has them, and back."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import paddle

FEED = {"x": np.ones((2, 3), "float32")}


def build(optimizer):
    x = paddle.static.data("x", [None, 3])
    loss = paddle.static.nn.fc(x, 2).mean()
    optimizer.minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe, loss


def step(name):
    return float(np.array(paddle.static.global_scope().find_var(name).get_tensor()))


OPTIMIZERS = {
    "adam": (lambda: paddle.optimizer.Adam(0.1, beta1=0.8), {"beta1": 0.8, "beta2": 0.999}),
    "adamw": (lambda: paddle.optimizer.AdamW(0.1), {"beta1": 0.9, "beta2": 0.999}),
    "adamax": (lambda: paddle.optimizer.Adamax(0.1), {"beta1": 0.9}),
    "lamb": (lambda: paddle.optimizer.Lamb(0.1), {"beta1": 0.9, "beta2": 0.999}),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_files_hold_the_powers_and_loading_finds_the_count(kind, tmp_path):
    make, betas = OPTIMIZERS[kind]
    exe, _ = build(make())
    for _ in range(4):
        exe.run(feed=FEED)
    main, prefix = paddle.static.default_main_program(), str(tmp_path / "model")
    paddle.static.save(main, prefix)
    with open(prefix + ".pdopt", "rb") as file:
        state = pickle.load(file)
    for beta, value in betas.items():
        for parameter in ("fc_0.w_0", "fc_0.b_0"):
            stored = state[f"{parameter}_{beta}_pow_acc_0"]
            assert stored.shape == (1,)
            np.testing.assert_allclose(stored, value**5, rtol=1e-6)
    # A file of Paddle's has no step count.
    del state[f"{kind}_step_0"]
    with open(prefix + ".pdopt", "wb") as file:
        pickle.dump(state, file, protocol=4)
    exe.run(feed=FEED)
    assert step(f"{kind}_step_0") == 5.0
    paddle.static.load(main, prefix)
    assert step(f"{kind}_step_0") == 4.0


def test_set_program_state_takes_powers_without_a_warning(tmp_path):
    exe, _ = build(paddle.optimizer.Adam(0.1))
    exe.run(feed=FEED)
    main, prefix = paddle.static.default_main_program(), str(tmp_path / "model")
    paddle.static.save(main, prefix)
    state = paddle.static.load_program_state(prefix)
    del state["adam_step_0"]
    exe.run(feed=FEED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paddle.static.set_program_state(main, state)
    assert step("adam_step_0") == 1.0


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
    assert state["w_beta1_pow_acc_0"][0] == 0.9**2
