"""Files that real Paddle 3.3.1 wrote (tests/goldens/make_files.py) load here."""

from pathlib import Path

import numpy as np
import pytest

import paddle
from goldens.expected import DTYPES, VALUES

FILES = Path(__file__).parents[2] / "goldens" / "data" / "files"


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_state_dict(protocol):
    state = paddle.load(str(FILES / f"linear_{protocol}.pdparams"))
    assert type(state) is dict
    assert list(state) == ["weight", "bias"]
    for key, value in state.items():
        assert isinstance(value, paddle.Tensor)
        assert value.stop_gradient
        np.testing.assert_array_equal(value.numpy(), VALUES[key])
    assert state["weight"].name == "linear_0.w_0"


def test_state_dict_as_arrays_with_its_names():
    state = paddle.load(str(FILES / "linear_4.pdparams"), return_numpy=True, keep_name_table=True)
    np.testing.assert_array_equal(state["bias"], VALUES["bias"])
    assert state["StructuredToParameterName@@"] == {
        "weight": "linear_0.w_0",
        "bias": "linear_0.b_0",
    }


def test_optimizer_state():
    state = paddle.load(str(FILES / "adam.pdopt"))
    assert state["LR_Scheduler"] == {"last_epoch": 1, "last_lr": 0.1}
    assert state["linear_0.w_0_beta1_pow_acc_0"].shape == [1]
    np.testing.assert_allclose(
        state["linear_0.w_0_moment1_0"].numpy(), np.full((2, 3), 0.1), rtol=1e-5
    )


def test_master_weights():
    state = paddle.load(str(FILES / "master_weights.pdopt"))
    assert state["LR_Scheduler"] == {"last_lr": 0.5}
    np.testing.assert_array_equal(state["master_weights"]["linear_0.w_0"].numpy(), VALUES["weight"])


def test_single_tensor():
    tensor = paddle.load(str(FILES / "tensor.pdtensor"))
    assert tensor.name == "alone"
    np.testing.assert_array_equal(tensor.numpy(), VALUES["weight"])


def test_nested():
    nested = paddle.load(str(FILES / "nested.pd"))
    assert nested["epoch"] == 7
    assert type(nested["model"]).__name__ == "OrderedDict"
    assert nested["extra"] == {"lr": 0.5}
    np.testing.assert_array_equal(nested["model"]["weight"].numpy(), VALUES["weight"])
    assert nested["parts"][1][:2] == (1, "two")
    np.testing.assert_array_equal(nested["parts"][1][2].numpy(), VALUES["weight"])


def test_arrays_without_tensors_become_tensors():
    loaded = paddle.load(str(FILES / "arrays.pd"))
    assert isinstance(loaded["array"], paddle.Tensor)
    assert loaded["scalar"] == np.float32(1.5)
    assert isinstance(paddle.load(str(FILES / "arrays.pd"), return_numpy=True)["array"], np.ndarray)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    tensor = paddle.load(str(FILES / "dtypes.pdparams"))[name]
    assert tensor.dtype == paddle.dtype(name)
    assert tensor.raw.float().sum() == 2 if "complex" not in name else tensor.raw.real.sum() == 2


@pytest.mark.parametrize("name", [*DTYPES, "float8_e4m3fn"])
def test_binary_format(name):
    tensor = paddle.load(str(FILES / f"{name}.bin"))
    assert tensor.dtype == paddle.dtype(name)
    assert tensor.shape == [1, 2]
    assert (
        (tensor.raw.float() == 1).all() if "complex" not in name else (tensor.raw.real == 1).all()
    )
