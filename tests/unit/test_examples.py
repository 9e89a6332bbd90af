"""The examples run, shortened."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import paddle

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def resnet():
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        yield load("resnet_images")
    paddle.disable_static()


def test_resnet_learns(resnet, capsys, tmp_path):
    accuracy = resnet.train("dygraph", 320, 3, str(tmp_path))
    shown = capsys.readouterr().out
    losses = [float(line.split()[3]) for line in shown.splitlines() if line.startswith("epoch")]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.9 * losses[0]
    assert accuracy > 0.3
    assert "taken for" in shown


def test_resnet_is_the_same_in_both_modes(resnet, fresh_programs):
    images, labels = resnet.make(4 * resnet.BATCH, seed=1)
    curves, answers = [], []
    for mode in (resnet.dygraph, resnet.static):
        paddle.seed(3)
        trainer = mode(num_steps=4)
        rows = [resnet.rows_of(step, len(images)) for step in range(4)]
        curves.append([trainer.step(images[each], labels[each]) for each in rows])
        answers.append(trainer.predict(images))
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-4)
    assert np.mean(answers[0] == answers[1]) > 0.95


@pytest.mark.filterwarnings("ignore:The program will return to single-card:UserWarning")
def test_demo_learns_in_one_process(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    demo = load("demo")
    monkeypatch.setattr(demo, "EPOCHS", 2)
    demo.fleet.init(is_collective=True)
    paddle.seed(7)
    model, resumed_from = demo.train(demo.digits.make(3000, seed=1), str(tmp_path / "kept"))
    assert resumed_from is None
    pictures, labels = demo.digits.make(200, seed=2)
    assert np.mean(demo.predict(model, pictures) == labels) > 0.5
