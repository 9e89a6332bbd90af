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
