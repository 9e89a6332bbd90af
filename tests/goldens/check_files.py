"""Check with real Paddle that it reads what argosy writes.

ARGOSY_VENV/bin/python tests/goldens/check_files.py write FOLDER
PATH_TO_PADDLE_VENV/bin/python tests/goldens/check_files.py read FOLDER
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import paddle
from goldens.expected import DTYPES, VALUES


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    layer = paddle.nn.Linear(2, 3)
    layer.weight.set_value(VALUES["weight"])
    layer.bias.set_value(VALUES["bias"])
    for protocol in (2, 3, 4):
        paddle.save(
            layer.state_dict(), str(folder / f"linear_{protocol}.pdparams"), protocol=protocol
        )
    tensor = paddle.to_tensor(VALUES["weight"])
    tensor.name = "alone"
    paddle.save(tensor, str(folder / "tensor.pdtensor"))
    optimizer = {
        "linear_0.w_0_moment1_0": tensor,
        "LR_Scheduler": {"last_epoch": 3, "last_lr": 0.5},
    }
    paddle.save(optimizer, str(folder / "adam.pdopt"))
    paddle.save(
        {"epoch": 7, "model": layer.state_dict(), "parts": [tensor, (1, "two", tensor)]},
        str(folder / "nested.pd"),
    )
    paddle.save(
        {name: paddle.to_tensor([1.0, 1.0]).astype(name) for name in DTYPES},
        str(folder / "dtypes.pdparams"),
    )
    for name in DTYPES:
        paddle.save(
            paddle.to_tensor([[1.0, 1.0]]).astype(name),
            str(folder / f"{name}.bin"),
            use_binary_format=True,
        )


def read(folder: Path) -> None:
    if hasattr(paddle, "from_torch"):
        raise SystemExit("this interpreter's paddle is argosy; real Paddle must read the files")
    layer = paddle.nn.Linear(2, 3)
    for protocol in (2, 3, 4):
        state = paddle.load(str(folder / f"linear_{protocol}.pdparams"))
        names = {key: value.name for key, value in state.items()}
        assert {key: name.split(".")[1] for key, name in names.items()} == {
            "weight": "w_0",
            "bias": "b_0",
        }, names
        layer.set_state_dict(state)
        np.testing.assert_array_equal(layer.weight.numpy(), VALUES["weight"])
        np.testing.assert_array_equal(layer.bias.numpy(), VALUES["bias"])
    tensor = paddle.load(str(folder / "tensor.pdtensor"))
    assert tensor.name == "alone"
    np.testing.assert_array_equal(tensor.numpy(), VALUES["weight"])
    optimizer = paddle.load(str(folder / "adam.pdopt"))
    assert optimizer["LR_Scheduler"] == {"last_epoch": 3, "last_lr": 0.5}
    np.testing.assert_array_equal(optimizer["linear_0.w_0_moment1_0"].numpy(), VALUES["weight"])
    nested = paddle.load(str(folder / "nested.pd"))
    assert nested["epoch"] == 7
    assert nested["parts"][1][:2] == (1, "two")
    np.testing.assert_array_equal(nested["parts"][1][2].numpy(), VALUES["weight"])
    np.testing.assert_array_equal(nested["model"]["bias"].numpy(), VALUES["bias"])
    dtypes = paddle.load(str(folder / "dtypes.pdparams"))
    for name in DTYPES:
        for value in (dtypes[name], paddle.load(str(folder / f"{name}.bin"))):
            assert str(value.dtype) == f"paddle.{name}", (name, value.dtype)
            assert value.astype("float32").numpy().sum() == 2
    print("Paddle reads every file")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
