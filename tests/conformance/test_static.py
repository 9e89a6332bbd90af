"""Programs train as real Paddle 2.6.2 does, and as the same layers do in eager mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import static_programs

GOLDEN = Path(__file__).resolve().parents[1] / "goldens" / "data" / "static_programs.npz"
STEPS = 20


pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.mark.parametrize("case", static_programs.CASES)
def test_trains_as_paddle_does(case):
    """The same first values give the same losses, metrics and last values over 20 steps."""
    with np.load(GOLDEN) as stored:
        expected = {
            key.split("/", 1)[1]: stored[key] for key in stored if key.startswith(f"{case}/")
        }
    initial = {
        key.removeprefix("first/"): value
        for key, value in expected.items()
        if key.startswith("first/")
    }
    fetched, first, last = static_programs.train(paddle, case, initial)
    assert set(first) == set(initial)  # parameters have Paddle's names
    # Summation order differs between the engines, and 20 steps carry it on.
    np.testing.assert_allclose(fetched, expected["fetched"], rtol=2e-5, atol=1e-6)
    for name, value in last.items():
        np.testing.assert_allclose(
            value, expected[f"last/{name}"], rtol=1e-4, atol=2e-5, err_msg=name
        )


def _network():
    return paddle.nn.Sequential(
        # before a batch norm its gradient would be noise
        paddle.nn.Conv2D(1, 3, 3, padding=1, bias_attr=False),
        paddle.nn.BatchNorm2D(3),
        paddle.nn.ReLU(),
        paddle.nn.MaxPool2D(2),
        paddle.nn.Flatten(),
        paddle.nn.Linear(27, 8, weight_attr=paddle.ParamAttr(learning_rate=0.5)),
        paddle.nn.LayerNorm(8),
        paddle.nn.Tanh(),
        paddle.nn.Linear(
            8, 4, bias_attr=paddle.ParamAttr(regularizer=paddle.regularizer.L1Decay(0.02))
        ),
    )


def _batch(step):
    rng = np.random.RandomState(step)
    return rng.randn(5, 1, 6, 6).astype("float32"), rng.randint(0, 4, (5, 1)).astype("int64")


CLIPS = {
    "none": lambda: None,
    "value": lambda: paddle.nn.ClipGradByValue(0.05),
    "norm": lambda: paddle.nn.ClipGradByNorm(0.1),
    "global": lambda: paddle.nn.ClipGradByGlobalNorm(0.2),
}

OPTIMIZERS = {
    "sgd": lambda lr, **k: paddle.optimizer.SGD(lr, **k),
    "momentum": lambda lr, **k: paddle.optimizer.Momentum(lr, 0.9, weight_decay=0.01, **k),
    "nesterov": lambda lr, **k: paddle.optimizer.Momentum(lr, 0.9, use_nesterov=True, **k),
    "adam": lambda lr, **k: paddle.optimizer.Adam(lr, weight_decay=0.02, **k),
    "adamw": lambda lr, **k: paddle.optimizer.AdamW(
        lr,
        weight_decay=0.1,
        apply_decay_param_fun=lambda name: ".w_" in name,
        lr_ratio=lambda p: 0.5,
        **k,
    ),
    "adamax": lambda lr, **k: paddle.optimizer.Adamax(
        lr, weight_decay=paddle.regularizer.L1Decay(0.01), **k
    ),
    "adagrad": lambda lr, **k: paddle.optimizer.Adagrad(lr, **k),
    "adadelta": lambda lr, **k: paddle.optimizer.Adadelta(lr, **k),
    "rmsprop": lambda lr, **k: paddle.optimizer.RMSProp(
        lr, centered=True, momentum=0.5, weight_decay=0.01, **k
    ),
    "lamb": lambda lr, **k: paddle.optimizer.Lamb(
        lr, exclude_from_weight_decay_fn=lambda p: ".b_" in p.name, **k
    ),
    "nadam": lambda lr, **k: paddle.optimizer.NAdam(lr, **k),
    "radam": lambda lr, **k: paddle.optimizer.RAdam(lr, **k),
    "asgd": lambda lr, **k: paddle.optimizer.ASGD(lr, batch_num=3, **k),
}
CASES = [
    ("sgd", "global"),
    ("sgd", "value"),
    ("momentum", "norm"),
    ("momentum", "global"),
    ("adam", "global"),
]
CASES += [(name, "none") for name in OPTIMIZERS]


def _eager(optimizer_name, clip_name):
    paddle.disable_static()
    try:
        with paddle.utils.unique_name.guard():
            network = _network()
            first = [p.numpy() for p in network.parameters()]
            schedule = paddle.optimizer.lr.ExponentialDecay(0.05, 0.9)
            optimizer = OPTIMIZERS[optimizer_name](
                schedule, grad_clip=CLIPS[clip_name](), parameters=network.parameters()
            )
        losses = []
        for step in range(STEPS):
            x, y = _batch(step)
            loss = paddle.nn.functional.cross_entropy(
                network(paddle.to_tensor(x)), paddle.to_tensor(y)
            )
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            schedule.step()
            losses.append(float(loss))
        return first, losses, [p.numpy() for p in network.parameters()]
    finally:
        paddle.enable_static()


def _recorded(optimizer_name, clip_name, first):
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x = paddle.static.data("x", [None, 1, 6, 6])
        y = paddle.static.data("y", [None, 1], "int64")
        network = _network()
        loss = paddle.nn.functional.cross_entropy(network(x), y)
        schedule = paddle.optimizer.lr.ExponentialDecay(0.05, 0.9)
        OPTIMIZERS[optimizer_name](schedule, grad_clip=CLIPS[clip_name]()).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(startup)
    for parameter, value in zip(network.parameters(), first, strict=True):
        parameter.set_value(value)
    losses = []
    for step in range(STEPS):
        fed_x, fed_y = _batch(step)
        losses.append(float(exe.run(main, feed={"x": fed_x, "y": fed_y}, fetch_list=[loss])[0]))
        schedule.step()
    return losses, [np.array(p.get_value()) for p in network.parameters()]


@pytest.mark.parametrize(("optimizer_name", "clip_name"), CASES)
def test_a_program_trains_as_eager_mode_does(optimizer_name, clip_name):
    """Layers, running statistics, clip, decay, per-parameter rates and schedule are the same in
    both modes.
    """
    first, losses, last = _eager(optimizer_name, clip_name)
    recorded_losses, recorded_last = _recorded(optimizer_name, clip_name, first)
    np.testing.assert_allclose(recorded_losses, losses, rtol=1e-6, atol=1e-6)
    for got, expected in zip(recorded_last, last, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


def test_reads_the_parameters_that_paddle_saved():
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        static_programs.small(paddle)
    paddle.static.load(main, str(GOLDEN.parent / "files" / "static"))
    scope = paddle.static.global_scope()
    held = {p.name: np.array(scope.find_var(p.name).get_tensor()) for p in main.all_parameters()}
    np.testing.assert_array_equal(held["fc_0.w_0"], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    # the mean of one batch of threes
    np.testing.assert_allclose(held["batch_norm_0.w_1"], [0.3, 0.3], rtol=1e-6)
    np.testing.assert_allclose(held["batch_norm_0.w_2"], [0.9, 0.9], rtol=1e-6)
