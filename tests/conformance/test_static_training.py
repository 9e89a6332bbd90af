"""Row-sparse gradients, averages, loss scaling and merged gradients in programs give the values of
real Paddle 2.6.2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens import static_training

GOLDEN = Path(__file__).resolve().parents[1] / "goldens" / "data" / "static_training.npz"


pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.mark.parametrize("case", static_training.CASES)
def test_trains_as_paddle_does(case):
    with np.load(GOLDEN) as stored:
        expected = {
            key.split("/", 1)[1]: stored[key] for key in stored if key.startswith(f"{case}/")
        }
    initial = {
        key.removeprefix("first/"): value
        for key, value in expected.items()
        if key.startswith("first/")
    }
    values = static_training.train(paddle, case, initial)
    assert set(values) == set(expected)
    for key, value in values.items():
        assert value.shape == expected[key].shape, key
        # Summation order differs between the engines, and the steps carry it on.
        np.testing.assert_allclose(value, expected[key], rtol=2e-5, atol=2e-6, err_msg=key)


def test_training_resumes_from_paddles_files():
    """The powers of beta in a .pdopt become the step count of Adam."""
    with np.load(GOLDEN) as stored:
        expected = stored["resumed"]
    losses = static_training.resumed(paddle, str(GOLDEN.parent / "files" / "static_adam"))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
