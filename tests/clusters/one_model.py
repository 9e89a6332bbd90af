"""A training whose ranks share each batch, and the check that they have trained what one process
trains with the whole of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

# argv: the beginning of the names of the files with the result
TRAIN = """
import os, socket, sys
import numpy as np
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
paddle.seed(3 + rank)  # the first rank's parameters count
model = paddle.DataParallel(paddle.nn.Sequential(
    paddle.nn.Linear(4, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1)))
optimizer = paddle.optimizer.Momentum(0.1, parameters=model.parameters())
for batch in np.random.default_rng(0).random((6, 8, 4), "float32"):
    share = len(batch) // size
    loss = (model(paddle.to_tensor(batch[rank * share:(rank + 1) * share])) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
name = sys.argv[1] if len(sys.argv) > 1 else "final"
np.savez(f"{name}.{rank}.of.{size}", *[p.numpy() for p in model.parameters()])
open(f"{name}.{rank}.host", "w").write(socket.gethostname())
"""
# what only the tests' hosts know
TOKEN = "0123456789abcdef-of-the-tests"


def write(folder: Path) -> Path:
    """Put ``train.py`` and a file with a token into ``folder``; returns the path of the token."""
    (folder / "train.py").write_text(TRAIN)
    secret = folder / "token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    return secret


def alone(folder: Path) -> list[np.ndarray]:
    """What one process trains with the whole batch."""
    write(folder)
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True, timeout=240)
    return parameters(folder, 0, 1)


def parameters(folder: Path, rank: int, size: int, name: str = "final") -> list[np.ndarray]:
    with np.load(folder / f"{name}.{rank}.of.{size}.npz") as arrays:
        return [arrays[each] for each in arrays.files]


def hosts(folder: Path, size: int) -> list[str]:
    """The host of each rank."""
    return [(folder / f"final.{rank}.host").read_text() for rank in range(size)]


def assert_one_model(
    folder: Path, size: int, expected: list[np.ndarray], name: str = "final"
) -> None:
    """All ranks have the same bits, and what ``alone`` has but for the order of sums."""
    first = parameters(folder, 0, size, name)
    for rank in range(1, size):
        for found, other in zip(parameters(folder, rank, size, name), first, strict=True):
            np.testing.assert_array_equal(found, other)
    for found, whole in zip(first, expected, strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)
