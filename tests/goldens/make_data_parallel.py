"""Write the golden data of data parallelism: two processes of real Paddle 3.3.1 under its own
spawn, over gloo.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_data_parallel.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import paddle
import paddle.distributed as dist
from support import models

DATA = Path(__file__).resolve().parent / "data"
STEPS = 8
WORLD_SIZE = 2


def train(folder: str) -> None:
    dist.init_parallel_env()
    rank = dist.get_rank()
    found = {}
    for name in models.NAMES:
        # Paddle's synchronised batch normalisation has no CPU kernel
        model = models.build(paddle, name, "float32", norm="BatchNorm2D")
        wrapped = paddle.DataParallel(model)
        found[f"{name}/losses"] = np.array(
            models.train(paddle, name, wrapped, STEPS, "float32", rank, WORLD_SIZE)
        )
        for key, value in models.state_of(model).items():
            found[f"{name}/state/{key}"] = value
    np.savez(Path(folder) / f"{rank}.npz", **found)


def main() -> None:
    if hasattr(paddle, "from_torch"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    with tempfile.TemporaryDirectory() as folder:
        dist.spawn(train, args=(folder,), nprocs=WORLD_SIZE, backend="gloo")
        arrays = {}
        for rank in range(WORLD_SIZE):
            with np.load(Path(folder) / f"{rank}.npz") as stored:
                arrays |= {f"{rank}/{key}": stored[key] for key in stored.files}
    np.savez_compressed(DATA / "data_parallel.npz", **arrays)


if __name__ == "__main__":
    main()
