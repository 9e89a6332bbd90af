"""Write the golden files of ``paddle.save``: run with an interpreter that has real Paddle 3.3.1.

    PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_files.py

The values are those of ``expected.py``; tests/unit/framework/test_paddle_files.py loads the files
with argosy.
"""

import sys
from collections import OrderedDict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import paddle
from goldens.expected import DTYPES, VALUES

FOLDER = Path(__file__).parent / "data" / "files"


def main() -> None:
    if hasattr(paddle, "from_torch"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden files must come from real Paddle"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)

    layer = paddle.nn.Linear(2, 3)
    layer.weight.set_value(VALUES["weight"])
    layer.bias.set_value(VALUES["bias"])
    for protocol in (2, 3, 4):
        paddle.save(
            layer.state_dict(), str(FOLDER / f"linear_{protocol}.pdparams"), protocol=protocol
        )

    tensor = paddle.to_tensor(VALUES["weight"])
    tensor.name = "alone"
    paddle.save(tensor, str(FOLDER / "tensor.pdtensor"))
    # the shape of an optimizer's state with multi_precision, which Paddle's CPU build cannot train
    # to
    mixed = {
        "linear_0.w_0_moment1_0": tensor,
        "master_weights": {"linear_0.w_0": tensor},
        "LR_Scheduler": {"last_lr": 0.5},
    }
    paddle.save(mixed, str(FOLDER / "master_weights.pdopt"))
    nested = {
        "epoch": 7,
        "model": layer.state_dict(),
        "parts": [tensor, (1, "two", tensor)],
        "extra": OrderedDict(lr=0.5),
    }
    paddle.save(nested, str(FOLDER / "nested.pd"))
    paddle.save({"array": VALUES["weight"], "scalar": np.float32(1.5)}, str(FOLDER / "arrays.pd"))
    paddle.save(
        {name: paddle.ones([2]).astype(name) for name in DTYPES}, str(FOLDER / "dtypes.pdparams")
    )
    for name in (*DTYPES, "float8_e4m3fn"):
        paddle.save(
            paddle.ones([1, 2]).astype(name), str(FOLDER / f"{name}.bin"), use_binary_format=True
        )

    scheduler = paddle.optimizer.lr.StepDecay(0.1, step_size=2)
    adam = paddle.optimizer.Adam(learning_rate=scheduler, parameters=layer.parameters())
    layer(paddle.ones([1, 2])).sum().backward()
    adam.step()
    scheduler.step()
    paddle.save(adam.state_dict(), str(FOLDER / "adam.pdopt"))
    print(
        sum(path.stat().st_size for path in FOLDER.iterdir()),
        "bytes in",
        len(list(FOLDER.iterdir())),
        "files",
    )


if __name__ == "__main__":
    main()
