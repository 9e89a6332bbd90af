"""Predictors compute what the predictor of real Paddle 3.3.1 computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.inference
from goldens import inference_models

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data" / "inference.npz"


@pytest.mark.parametrize("name", inference_models.MODELS)
def test_a_predictor_computes_what_paddles_does(name, tmp_path):
    found = inference_models.run(paddle, name, str(tmp_path))
    with np.load(DATA) as stored:
        expected = [stored[f"{name}/{i}"] for i in range(len(found))]
        assert f"{name}/{len(found)}" not in stored
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6, strict=True)
