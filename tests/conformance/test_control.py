"""Programs with branches, loops and Python functions: values and gradients equal those of real
Paddle, 2.6.2 and 1.8.5.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import control_programs, fluid_control
from paddle import fluid

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"


pytestmark = pytest.mark.usefixtures("static_mode")


def compare(file: str, name: str, turns: list) -> None:
    with np.load(DATA / file) as stored:
        wanted = {key: stored[key] for key in stored if key.startswith(f"{name}/")}
    got = {
        f"{name}/{turn}/{i}": value
        for turn, values in enumerate(turns)
        for i, value in enumerate(values)
    }
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        assert got[key].shape == value.shape, key
        assert got[key].dtype == value.dtype, key
        np.testing.assert_allclose(got[key], value, rtol=2e-6, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", control_programs.CASES)
def test_programs(name):
    compare("control_programs.npz", name, control_programs.run(paddle, name))


@pytest.mark.parametrize("name", fluid_control.CASES)
def test_programs_of_fluid(name):
    compare("fluid_control.npz", name, fluid_control.run(fluid, name))
