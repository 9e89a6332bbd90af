"""Programs of ``paddle.fluid`` compute and train as those of real Paddle 1.8.5 do."""

import functools
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from goldens import fluid_functions, fluid_training

GOLDEN = Path(__file__).resolve().parents[1] / "goldens" / "data" / "fluid_static.npz"


@functools.cache
def _stored():
    with np.load(GOLDEN) as stored:
        return {key: stored[key] for key in stored.files}


def _of(prefix):
    return {key[len(prefix) :]: value for key, value in _stored().items() if key.startswith(prefix)}


@pytest.fixture(autouse=True)
def leave_static_mode():
    yield
    paddle.disable_static()


# Two engines sum in different orders; gradients of normalisations are differences of large numbers.
LOOSE = {
    "group_norm": 2e-5,
    "instance_norm": 2e-5,
    "batch_norm": 2e-5,
    "layer_norm": 2e-5,
    "conv_group": 5e-5,
}


@pytest.mark.parametrize("name", fluid_functions.LAYERS)
def test_functions_compute_as_paddle_does(name):
    """Values, dtypes, shapes, gradients, parameter names and running statistics."""
    expected = _of(f"layer/{name}/")
    result = fluid_functions.run_layer(fluid, name)
    assert str(result.pop("names")) == str(expected.pop("names"))
    assert set(expected) <= set(result)  # here gradients also reach what Paddle takes for labels
    rtol = next((value for key, value in LOOSE.items() if name.startswith(key)), 5e-6)
    for key, value in expected.items():
        assert result[key].dtype == value.dtype, key
        assert result[key].shape == value.shape, key
        scale = np.abs(value).max() if value.size else 0.0
        np.testing.assert_allclose(
            result[key], value, rtol=rtol, atol=rtol * scale + 1e-6, err_msg=key
        )


@pytest.mark.parametrize("name", fluid_training.RATES)
def test_rates_follow_the_counter_of_runs(name):
    np.testing.assert_allclose(
        fluid_training.run_rate(fluid, name), _stored()[f"rate/{name}"], rtol=2e-6, atol=1e-7
    )


@pytest.mark.parametrize("name", fluid_training.TRAINING)
def test_scripts_train_as_with_paddle(name):
    """The same first values give the same losses and last values over 20 steps."""
    first, last = _of(f"train/{name}/first/"), _of(f"train/{name}/last/")
    rows, given, final = fluid_training.train(fluid, name, first)
    assert set(given) == set(first)
    # 20 steps carry differences of the last digit on.
    np.testing.assert_allclose(rows, _stored()[f"train/{name}/fetched"], rtol=5e-5, atol=2e-6)
    for key, value in last.items():
        np.testing.assert_allclose(final[key], value, rtol=2e-4, atol=2e-5, err_msg=key)


def test_moving_averages():
    np.testing.assert_allclose(fluid_training.run_average(fluid), _stored()["average"], rtol=1e-6)


def test_covers_enough():
    assert len(fluid_functions.LAYERS) >= 150
    assert len(fluid_training.RATES) >= 11
    assert len(fluid_training.TRAINING) >= 15
