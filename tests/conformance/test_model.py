"""A Model, its callbacks and lines, tables of layers and counts of operations: as real Paddle."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import model_runs

DATA = Path(model_runs.__file__).parent / "data"
STORED = json.loads((DATA / "model.json").read_text())
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def check_same(found, expected, where):
    """Equal, but for the last digits of floats; in lines too."""
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key, value in expected.items():
            check_same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list), where
        assert len(found) == len(expected), (where, found, expected)
        for i, value in enumerate(expected):
            check_same(found[i], value, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-5, abs=1e-6), where
    elif isinstance(expected, str):
        assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), where
        numbers = [float(number) for number in NUMBER.findall(expected)]
        assert list(map(float, NUMBER.findall(found))) == pytest.approx(numbers, abs=1.1e-4)
    else:
        assert found == expected, where


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("case", model_runs.CASES)
def test_what_happens_is_what_happens_in_paddle(case):
    found = json.loads(json.dumps(model_runs.run(paddle, case)))
    check_same(found, STORED[case], case)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("here", ["dygraph", "static"])
@pytest.mark.parametrize("there", ["dygraph", "static"])
def test_training_goes_on_from_files_of_paddle(there, here):
    path = DATA / "files" / f"model_{there}"
    found = model_runs.in_mode(paddle, here, lambda: model_runs.loaded(paddle, path))
    assert found == pytest.approx(STORED["files"][there], rel=1e-5)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("mode", ["dygraph", "static"])
def test_files_hold_what_those_of_paddle_hold(mode, tmp_path):
    path = tmp_path / "model"
    model_runs.in_mode(paddle, mode, lambda: model_runs.saved(paddle, path))
    for ending in (".pdparams", ".pdopt"):
        ours = paddle.load(f"{path}{ending}", return_numpy=True)
        theirs = paddle.load(str(DATA / "files" / f"model_{mode}{ending}"), return_numpy=True)
        assert sorted(ours) == sorted(theirs)
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=1e-4, atol=1e-6, err_msg=key)
