"""TensorBoard reads what the launcher writes, and torch's own writer works beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.runtime.observe.run_folder import runs_in
from argosy.runtime.observe.summary import PARTS
from support.launcher import Launcher, script

TRAIN = """
import paddle, paddle.distributed as dist
from torch.utils.tensorboard import SummaryWriter

dist.init_parallel_env()
model = paddle.DataParallel(paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
with SummaryWriter(f"own/{rank}") as writer:
    for step in range(20):
        loss = model(paddle.ones([2, 8])).mean() * 0 + step / 4
        dist.fleet.log(step, loss=loss)
        writer.add_scalar("own loss", float(loss), step)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
# in a process of its own: what TensorBoard imports warns
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

found = {}
for folder in sys.argv[1:]:
    seen = EventAccumulator(folder, size_guidance={"scalars": 0})
    seen.Reload()
    found[folder] = {
        tag: [(event.step, event.value, event.wall_time) for event in seen.Scalars(tag)]
        for tag in seen.Tags()["scalars"]
    }
json.dump(found, sys.stdout)
"""


def read(*folders: Path) -> list[dict[str, list[tuple[int, float, float]]]]:
    """The scalars in each folder, as TensorBoard reads them."""
    command = [sys.executable, "-c", READ, *map(str, folders)]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
    found = json.loads(done.stdout)
    return [found[str(folder)] for folder in folders]


def test_tensorboard_shows_each_rank_beside_the_scripts_own(tmp_path):
    flags = ("--nproc_per_node", "2", "--tensorboard")
    launcher = Launcher(tmp_path, *flags, script(tmp_path, TRAIN))
    try:
        assert launcher.wait(120.0) == 0, launcher.stderr
    finally:
        launcher.close()
    (run,) = runs_in(tmp_path / "log")
    folders = [run / "tensorboard" / f"rank-{rank}" for rank in (0, 1)]
    *ours, own = read(*folders, tmp_path / "own" / "0")
    for found in ours:
        assert {tag for tag in found if tag.startswith("share/")} == {f"share/{p}" for p in PARTS}
        assert [(step, value) for step, value, _ in found["loss"]] == [
            (step, step / 4) for step in range(20)
        ]
        assert found["steps_per_s"][-1][0] == 19
        times = [at for _, _, at in found["loss"]]
        assert times == sorted(times)
        assert abs(times[-1] - run.stat().st_mtime) < 60
    assert [value for _, value, _ in own["own loss"]] == pytest.approx([s / 4 for s in range(20)])
