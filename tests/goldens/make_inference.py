"""Run the models of ``inference_models`` with the predictor of real Paddle 3.3.1 and store what
came out.

Run it with an interpreter that has it: ``python tests/goldens/make_inference.py``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import inference_models  # noqa: E402

import paddle  # noqa: E402
import paddle.inference  # noqa: E402


def main() -> None:
    stored = {}
    for name in inference_models.MODELS:
        with tempfile.TemporaryDirectory() as folder:
            for i, value in enumerate(inference_models.run(paddle, name, folder)):
                stored[f"{name}/{i}"] = value
    np.savez_compressed(str(HERE / "data" / "inference.npz"), **stored)


if __name__ == "__main__":
    main()
