"""Programs on sequences give the values, lods and gradients of real Paddle 2.6.2 and 1.8.5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import lod_programs

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"


pytestmark = pytest.mark.usefixtures("static_mode")


def _expected(version, case):
    with np.load(DATA / f"lod_{version}.npz") as stored:
        return {
            key.split("/", 1)[1]: stored[key] for key in stored.files if key.startswith(f"{case}/")
        }


def _check(found, version, case):
    expected = _expected(version, case)
    assert sorted(found) == sorted(expected)
    for key, value in expected.items():
        # Transcendentals and the order of sums differ between the engines.
        np.testing.assert_allclose(
            found[key], value, rtol=2e-6, atol=2e-6, strict=True, err_msg=key
        )


@pytest.mark.parametrize(
    "case", [name for name in lod_programs.CASES if name not in lod_programs.OLD_ONLY]
)
def test_computes_as_paddle_2_does(case):
    _check(lod_programs.run(paddle, case, is_old=False), "262", case)


@pytest.mark.parametrize("case", lod_programs.CASES)
def test_fluid_computes_as_paddle_1_does(case):
    _check(lod_programs.run(paddle, case, is_old=True), "185", case)
