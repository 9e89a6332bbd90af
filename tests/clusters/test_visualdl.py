"""VisualDL's own writer, and our callback for it, in ranks of a job."""

from __future__ import annotations

import json
import subprocess
import sys

from support.launcher import Launcher, script

TRAIN = """
import numpy as np
import paddle, paddle.distributed as dist
from visualdl import LogWriter

dist.init_parallel_env()
features = np.linspace(-1, 1, 64, dtype="float32").reshape(16, 4)
data = paddle.io.TensorDataset([paddle.to_tensor(features),
                                paddle.to_tensor(features.sum(1, keepdims=True))])
network = paddle.nn.Linear(4, 1)
model = paddle.Model(network)
model.prepare(paddle.optimizer.SGD(0.1, parameters=network.parameters()), paddle.nn.MSELoss())
model.fit(data, data, batch_size=4, epochs=2, verbose=0,
          callbacks=[paddle.callbacks.VisualDL(f"callback/{rank}")])
with LogWriter(logdir=f"own/{rank}") as writer:
    for step in range(5):
        writer.add_scalar(tag="loss", step=step, value=step / 2)
"""
# in a process of its own: what VisualDL imports warns
READ = """
import json, pathlib, sys
from visualdl import LogReader

found = {}
for folder in sys.argv[1:]:
    (path,) = pathlib.Path(folder).glob("vdlrecords.*")
    reader = LogReader(file_path=str(path))
    tags = reader.get_tags().get("scalar", [])
    found[folder] = {tag: [(r.id, r.value) for r in reader.get_data("scalar", tag)] for tag in tags}
json.dump(found, sys.stdout)
"""


def read(folder, *names):
    command = [sys.executable, "-c", READ, *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=folder, timeout=120, check=True)
    return [json.loads(done.stdout.splitlines()[-1])[name] for name in names]


def test_a_job_writes_for_visualdl(tmp_path):
    launcher = Launcher(tmp_path, "--nproc_per_node", "2", script(tmp_path, TRAIN))
    try:
        assert launcher.wait(120.0) == 0, launcher.stderr
    finally:
        launcher.close()
    for own in read(tmp_path, "own/0", "own/1"):
        assert own["loss"] == [[step, step / 2] for step in range(5)]
    (callback,) = read(tmp_path, "callback/0")
    losses = callback["train/loss"]
    assert len(losses) >= 4
    assert losses[-1][1] < losses[0][1]
    assert any(tag.startswith("eval/") for tag in callback)
