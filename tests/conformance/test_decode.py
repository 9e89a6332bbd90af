"""Programs that run cells and decoders step by step: values and gradients equal those of real
Paddle, 2.6.2 and 1.8.5.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import decode_programs, fluid_decode
from paddle import fluid

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"

pytestmark = pytest.mark.usefixtures("static_mode")


def compare(programs, face, name):
    with np.load(DATA / f"{programs.__name__.rpartition('.')[2]}.npz") as stored:
        wanted = {key: stored[key] for key in stored if key.startswith(f"{name}/")}
    got = {
        f"{name}/{turn}/{i}": value
        for turn, values in enumerate(programs.run(face, name))
        for i, value in enumerate(values)
    }
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        assert got[key].shape == value.shape, key
        assert got[key].dtype == value.dtype, key
        np.testing.assert_allclose(got[key], value, rtol=1e-5, atol=3e-5, err_msg=key)


@pytest.mark.parametrize("name", decode_programs.CASES)
def test_programs(name):
    compare(decode_programs, paddle, name)


@pytest.mark.parametrize("name", fluid_decode.CASES)
def test_programs_of_fluid(name):
    compare(fluid_decode, fluid, name)
