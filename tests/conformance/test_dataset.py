"""Training from files gives the parameters of real Paddle 2.6.2 and 1.8.5, and prints what 2.6.2
prints.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import dataset_programs

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
STAMP = re.compile(r"^time: \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\], ")


pytestmark = pytest.mark.usefixtures("static_mode")


def _check(found, version, kind):
    with np.load(DATA / f"dataset_{version}.npz") as stored:
        for name, value in found.items():
            # Sums are taken in another order.
            np.testing.assert_allclose(
                value, stored[f"{kind}/{name}"], rtol=2e-6, atol=2e-7, err_msg=name
            )
        return stored[f"{kind}/lines"].tolist() if version == "262" else None


@pytest.mark.parametrize("kind", dataset_programs.KINDS)
def test_trains_and_prints_as_paddle_2_does(kind, tmp_path, capsys):
    lines = _check(dataset_programs.run_new(paddle, kind, tmp_path), "262", kind)
    printed = capsys.readouterr().out.splitlines()
    assert all(STAMP.match(line) for line in printed)
    found = [STAMP.sub("", line) for line in printed]
    assert [NUMBER.sub("", line) for line in found] == [NUMBER.sub("", line) for line in lines]
    for mine, theirs in zip(found, lines, strict=True):  # the last of six digits may differ
        np.testing.assert_allclose(
            *(np.array(NUMBER.findall(line), float) for line in (mine, theirs)), rtol=3e-6
        )


@pytest.mark.parametrize("kind", dataset_programs.KINDS)
def test_trains_as_paddle_1_does(kind, tmp_path):
    _check(dataset_programs.run_old(paddle.fluid, kind, tmp_path), "185", kind)
