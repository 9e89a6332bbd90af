"""Run the programs of ``fluid_functions`` and ``fluid_training`` with real Paddle 1.8.5 and store
what came out.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_fluid_static.py
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fluid_functions  # noqa: E402
import fluid_training  # noqa: E402

import paddle.fluid as fluid  # noqa: E402


def main():
    if hasattr(fluid, "missing"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    stored = {}
    for name in fluid_functions.LAYERS:
        try:
            result = fluid_functions.run_layer(fluid, name)
        except Exception as error:
            raise SystemExit(f"{name}: {error}") from error
        stored.update({f"layer/{name}/{key}": value for key, value in result.items()})
    for name in fluid_training.RATES:
        stored[f"rate/{name}"] = fluid_training.run_rate(fluid, name)
    stored["average"] = fluid_training.run_average(fluid)
    for name in fluid_training.TRAINING:
        rows, first, last = fluid_training.train(fluid, name)
        stored[f"train/{name}/fetched"] = rows
        stored.update({f"train/{name}/first/{key}": value for key, value in first.items()})
        stored.update({f"train/{name}/last/{key}": value for key, value in last.items()})
    path = HERE / "data" / "fluid_static.npz"
    np.savez_compressed(path, **stored)
    print(len(stored), "arrays,", path.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main()
