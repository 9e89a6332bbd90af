"""One task per rank, started by torchrun: scripts that were written for fleetrun train alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of
from support.environments import SLURM
from support.launcher import Launcher, script

LAUNCHERS = ("PADDLE_", "FLAGS_", "ARGOSY_")

TRAIN = """
import json, sys
import numpy as np
import torch
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet
from paddle.io import DistributedBatchSampler

before = (dist.get_rank(), dist.get_world_size(), paddle.distributed.ParallelEnv().world_size)
sampler = DistributedBatchSampler(list(range(8)), batch_size=2)
seen = [index for batch in sampler for index in batch]
fleet.init(is_collective=True)
rank = fleet.worker_index()

def train(model, parameters, optimizer, make):
    for step in range(3):
        values = np.arange(6, dtype="float32").reshape(2, 3) + 10 * rank + step
        model(make(values)).mean().backward()
        optimizer.step()
        optimizer.clear_grad() if hasattr(optimizer, "clear_grad") else optimizer.zero_grad()
    return [float(p.sum()) for p in parameters()]

paddle.seed(1 + rank)
layer = fleet.distributed_model(paddle.nn.Linear(3, 2))
sgd = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
ours = train(layer, layer.parameters, sgd, paddle.to_tensor)

torch.manual_seed(1 + rank)
module = fleet.distributed_model(torch.nn.Linear(3, 2))
torchs = train(module, module.parameters, torch.optim.SGD(module.parameters(), 0.1),
               torch.from_numpy)

total = paddle.to_tensor([float(rank + 1)])
dist.all_reduce(total)
json.dump([before, rank, fleet.worker_num(), seen, ours, torchs, total.tolist()],
          open(f"{sys.argv[1]}/result.{rank}", "w"))
"""


@pytest.fixture
def environment(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
    return kept | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}


def torchrun(folder: Path, environment, text: str, *arguments: str):
    (folder / "train.py").write_text(text)
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    return subprocess.run(
        [*words, "train.py", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=100,
    )


def test_two_processes_of_torchrun_train_one_model(tmp_path, environment):
    done = torchrun(tmp_path, environment, TRAIN, str(tmp_path))
    assert done.returncode == 0, done.stderr
    results = [json.loads((tmp_path / f"result.{rank}").read_text()) for rank in range(2)]
    for rank, (before, own, count, _, _, _, total) in enumerate(results):
        assert before == [rank, 2, 2]
        assert (own, count, total) == (rank, 2, [3.0])
    assert sorted(results[0][3] + results[1][3]) == list(range(8))
    for model in (4, 5):
        assert results[0][model] == results[1][model]
    assert list((tmp_path / "cache").rglob("meeting-*")) == []


PROGRAM = """
import json, sys
import numpy as np
import paddle
from paddle.distributed import fleet

paddle.enable_static()
fleet.init(is_collective=True)
paddle.seed(3)
x = paddle.static.data("x", [2, 3], "float32")
loss = paddle.static.nn.fc(x, 2).mean()
fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
rank = fleet.worker_index()
for step in range(3):
    exe.run(feed={"x": np.full((2, 3), 1.0 + rank + step, "float32")}, fetch_list=[loss])
values = [float(np.asarray(paddle.static.global_scope().find_var(p.name).get_tensor()).sum())
          for p in paddle.static.default_main_program().all_parameters()]
json.dump(values, open(f"{sys.argv[1]}/result.{rank}", "w"))
"""


def test_two_processes_of_torchrun_train_one_program(tmp_path, environment):
    done = torchrun(tmp_path, environment, PROGRAM, str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"result.{rank}").read_text()) for rank in range(2))
    assert first == second


def run(environment, text: str):
    return subprocess.run(
        [sys.executable, "-c", text], env=environment, text=True, capture_output=True, timeout=60
    )


def test_a_process_that_would_be_alone_among_several_is_refused(environment):
    done = run(
        environment | {"RANK": "1", "WORLD_SIZE": "2"},
        "import paddle\n"  # importing asks nobody
        "for ask in (paddle.distributed.init_parallel_env, paddle.distributed.fleet.init,\n"
        "            paddle.distributed.get_rank, paddle.distributed.get_world_size):\n"
        "    try:\n"
        "        ask()\n"
        "    except ValueError as error:\n"
        "        assert 'RANK=1 WORLD_SIZE=2' in str(error), error\n"
        "        print('refused')\n",
    )
    assert done.stdout == "refused\n" * 4, done.stderr


def test_one_process_of_another_launcher_is_alone_without_noise(environment):
    one = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "PMI_RANK": "0", "PMI_SIZE": "1"}
    done = run(
        environment | one,
        "import paddle, paddle.distributed.fleet as fleet\n"
        "fleet.init(is_collective=True)\n"
        "assert paddle.distributed.get_world_size() == fleet.worker_num() == 1\n"
        "fleet.distributed_model(paddle.nn.Linear(1, 1))\n",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_launchers_without_flags_meet_where_the_one_around_them_says(tmp_path):
    """Two tasks of srun, one on each host, as fleetrun sees them."""
    launchers = []
    with bind_listener() as listener:
        port = str(endpoint_of(listener).port)
    try:
        for host in range(2):
            folder = tmp_path / str(host)
            folder.mkdir()
            name = script(folder, "open('told', 'w').write(os.environ['PADDLE_TRAINERS_NUM'])")
            task = SLURM | {
                "SLURM_NTASKS": "2",
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_PROCID": str(host),
                "SLURM_NODEID": str(host),
                "SLURM_LOCALID": "0",
                "SLURM_STEP_NUM_NODES": "2",
                "SLURM_JOB_NODELIST": "localhost,n2",
                "SLURM_STEP_NODELIST": "localhost,n2",
                "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
                "MASTER_PORT": port,
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
            }
            launchers.append(Launcher(folder, name, **task))
        for host, launcher in enumerate(launchers):
            assert launcher.wait() == 0, launcher.stderr
            assert (tmp_path / str(host) / "told").read_text() == "2"
            assert (tmp_path / str(host) / "log" / "workerlog.0").exists()
    finally:
        for launcher in launchers:
            launcher.close()
