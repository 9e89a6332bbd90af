"""Scripts of 1.x run unchanged, as a user runs them, and give the numbers of real Paddle 1.8.5."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
EXPECTED = json.loads((GOLDENS / "data" / "fluid_scripts.json").read_text())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_script(name, tmp_path):
    path = tmp_path / "result.json"
    env = {**os.environ, "OMP_NUM_THREADS": "1", "CPU_NUM": "2"}
    command = [sys.executable, str(GOLDENS / "fluid_scripts" / f"{name}.py"), str(path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    same(json.loads(path.read_text()), EXPECTED[name], name)


def same(found, expected, where):
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key in expected:
            same(found[key], expected[key], f"{where}: {key}")
    elif isinstance(expected, list) and expected and isinstance(expected[0], list):
        assert len(found) == len(expected), where
        for i, row in enumerate(expected):
            same(found[i], row, f"{where}[{i}]")
    elif isinstance(expected, list) and expected and isinstance(expected[0], float):
        np.testing.assert_allclose(found, expected, rtol=2e-5, err_msg=where)
    else:
        assert found == expected, where
