"""ParallelExecutor on two CPU places gives the losses and values that Paddle 1.8.5's gave."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from goldens import harness, parallel_programs


@pytest.fixture(scope="module")
def stored():
    with np.load(harness.DATA / "parallel_programs.npz") as data:
        return dict(data)


@pytest.mark.parametrize("case", parallel_programs.CASES)
def test_losses_and_values_are_those_of_paddle(case, stored, monkeypatch):
    monkeypatch.setenv("CPU_NUM", "2")
    first = {
        key.split("/")[2]: value
        for key, value in stored.items()
        if key.startswith(f"{case}/first/")
    }
    last = {
        key.split("/")[2]: value for key, value in stored.items() if key.startswith(f"{case}/last/")
    }
    assert set(last) >= {"fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"}
    paddle.enable_static()
    try:
        losses, _, values = parallel_programs.train(fluid, case, first)
    finally:
        paddle.disable_static()
    assert losses.shape == stored[f"{case}/losses"].shape == (parallel_programs.STEPS, 2)
    np.testing.assert_allclose(losses, stored[f"{case}/losses"], rtol=2e-5)
    for name, value in last.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-4, atol=2e-6, err_msg=name)
