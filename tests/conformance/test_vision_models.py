"""The nets of ``paddle.vision.models`` are those of real Paddle 3.3.1: state dicts, names of
parameters, layers, what they compute and what a step of training changes.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import vision_models as cases

FILE = Path(__file__).resolve().parents[1] / "goldens" / "data" / "vision_models.json"
# one net of each class, and both kinds of blocks of ResNet
TRAINED = {
    "resnet18", "resnet50", "vgg11", *cases.MOBILENETS, "densenet121", "shufflenet_v2_x0_25",
    "shufflenet_v2_swish", *cases.SQUEEZENETS, "LeNet", "googlenet", "inception_v3",
}  # fmt: skip
SMALL = [case for case in cases.RUNS if case[0] not in cases.BIG]


@functools.cache
def _stored():
    return json.loads(FILE.read_text())


def test_every_net_of_the_package_is_tried():
    functions = {name for name in paddle.vision.models.__all__ if name.islower()}
    assert functions <= {name for name, _ in cases.BUILDS}
    assert functions <= {name for name, *_ in cases.RUNS}


@pytest.mark.parametrize("case", cases.BUILDS, ids=lambda case: cases.title(*case))
def test_a_program_has_the_same_parameters_and_layers(case, static_mode):
    assert cases.structure(paddle, *case) == _stored()["builds"][cases.title(*case)]


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small", "densenet121", "googlenet"])
def test_an_eager_net_has_the_same_parameters_and_layers(name):
    assert cases.structure(paddle, name, {}) == _stored()["builds"][name]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: cases.title(*case))
def test_computes_the_same(case):
    found = cases.numbers(paddle, *case, step=case[0] in TRAINED and "scale" not in case[1])
    expected = _stored()["runs"][cases.title(*case)]
    for kind, numbers in found.items():
        scale = np.abs(expected[kind]).max(initial=0)
        # Paddle keeps the momentum of averages in float32.
        np.testing.assert_allclose(numbers, expected[kind], 0, 1e-6 * scale, err_msg=kind)


WAYS = ["resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_25"]


def _built(name):
    net = cases.build(paddle, name, {"num_classes": 4})
    for layer in net.sublayers():
        if isinstance(layer, paddle.nn.Dropout):
            layer.p = 0.0
    return net


def _images():
    rng = np.random.RandomState(0)
    return rng.rand(2, 3, 48, 48).astype("float32"), rng.randint(0, 4, (2, 1))


def _stepped(net, call):
    """The loss and the state after a step of an eager net, whose forward is ``call``."""
    images, labels = map(paddle.to_tensor, _images())
    loss = paddle.nn.functional.cross_entropy(call(images), labels)
    loss.backward()
    paddle.optimizer.Momentum(0.01, parameters=net.parameters()).step()
    return float(loss), {key: value.numpy() for key, value in net.state_dict().items()}


def _assert_close(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    for key, value in expected[1].items():
        np.testing.assert_allclose(found[1][key], value, 1e-5, 1e-5, err_msg=key)


@pytest.mark.parametrize("name", WAYS)
def test_a_converted_net_learns_as_the_eager_one(name):
    net, other = _built(name), _built(name)
    other.set_state_dict(net.state_dict())
    _assert_close(_stepped(other, paddle.jit.to_static(other)), _stepped(net, net))


@pytest.mark.parametrize("name", WAYS)
def test_a_program_learns_as_the_eager_net(name, static_mode):
    paddle.disable_static()
    net = _built(name)
    state = {key: value.numpy().copy() for key, value in net.state_dict().items()}
    expected = _stepped(net, net)
    paddle.enable_static()
    recorded = _built(name)
    images, labels = _images()
    x = paddle.static.data("x", [None, 3, 48, 48])
    y = paddle.static.data("y", [None, 1], "int64")
    loss = paddle.nn.functional.cross_entropy(recorded(x), y)
    paddle.optimizer.Momentum(0.01).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    named = {key: value.name for key, value in recorded.state_dict().items()}
    main = paddle.static.default_main_program()
    paddle.static.set_program_state(main, {named[key]: state[key] for key in state})
    (found,) = exe.run(feed={"x": images, "y": labels}, fetch_list=[loss])
    scope = paddle.static.global_scope()
    after = {key: np.array(scope.find_var(n).get_tensor()) for key, n in named.items()}
    _assert_close((float(found), after), expected)
