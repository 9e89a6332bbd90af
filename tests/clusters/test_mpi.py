"""``mpirun -np 2 python train.py``: Debian's Open MPI and MPICH as launchers.

Nothing of MPI is used but the start of the processes and what they are told.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """
import json, sys
import numpy as np
import torch
import paddle
import paddle.distributed.fleet as fleet

fleet.init(is_collective=True)
rank = fleet.worker_index()
paddle.seed(1 + rank)
layer = fleet.distributed_model(paddle.nn.Linear(3, 2))
sgd = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
torch.manual_seed(1 + rank)
module = fleet.distributed_model(torch.nn.Linear(3, 2))
torch_sgd = torch.optim.SGD(module.parameters(), 0.1)
for step in range(3):
    values = np.arange(6, dtype="float32").reshape(2, 3) + 10 * rank + step
    layer(paddle.to_tensor(values)).mean().backward()
    sgd.step()
    sgd.clear_grad()
    module(torch.from_numpy(values)).mean().backward()
    torch_sgd.step()
    torch_sgd.zero_grad()
trained = [float(p.sum()) for p in [*layer.parameters(), *module.parameters()]]
json.dump([fleet.worker_num(), trained], open(f"result.{rank}", "w"))
"""
COMMANDS = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"],
    "mpich": ["mpiexec.hydra", "-n", "2"],
}
BELOW_A_SHELL = ["sh", "-c", '"$0" "$@"; exit $?']


@pytest.fixture(params=COMMANDS)
def command(request):
    words = COMMANDS[request.param]
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no command {words[0]}")
    return words


def run(words: list[str], folder: Path, limit_s: float = 300.0, **variables: str):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "ARGOSY_TOKEN"))}
    environment = kept | {"XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        words,
        cwd=folder,
        env=environment | variables,
        text=True,
        capture_output=True,
        timeout=limit_s,
    )


def test_two_processes_train_one_model(tmp_path, command):
    (tmp_path / "train.py").write_text(TRAIN)
    done = run([*command, sys.executable, "train.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"result.{rank}").read_text()) for rank in range(2))
    assert first == second
    assert first[0] == 2
    assert list((tmp_path / "cache").rglob("meeting-*")) == []


def test_processes_below_a_shell_find_their_launcher(tmp_path, command):
    (tmp_path / "train.py").write_text(
        "import paddle.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "open(f'{dist.get_rank()}.{dist.get_world_size()}', 'w').close()\n"
    )
    done = run([*command, *BELOW_A_SHELL, sys.executable, "train.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("?.2")) == ["0.2", "1.2"]


def test_two_jobs_at_once_do_not_meet(tmp_path, command):
    """Each has its own file, though all is alike but the launcher."""
    text = (
        "import json, sys, paddle, paddle.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "found = []\n"
        "dist.all_gather_object(found, sys.argv[1])\n"
        "json.dump(found, open(f'{sys.argv[1]}.{dist.get_rank()}', 'w'))\n"
    )
    (tmp_path / "train.py").write_text(text)
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    jobs = [
        subprocess.Popen(
            [*command, sys.executable, "train.py", name], cwd=tmp_path, env=environment
        )
        for name in ("a", "b")
    ]
    try:
        assert [job.wait(timeout=300) for job in jobs] == [0, 0]
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    for name in ("a", "b"):
        for rank in range(2):
            assert json.loads((tmp_path / f"{name}.{rank}").read_text()) == [name, name]


def test_a_launcher_in_every_task_of_one_host_is_refused(tmp_path, command):
    (tmp_path / "train.py").write_text("")
    launch = [sys.executable, "-m", "paddle.distributed.launch", "train.py"]
    done = run([*command, *launch], tmp_path)
    assert done.returncode != 0
    assert "Let it start one launcher per host" in done.stdout + done.stderr


def test_a_task_that_starts_a_job_of_its_own_says_so(tmp_path, command):
    (tmp_path / "train.py").write_text(
        "import os, paddle, paddle.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "assert dist.get_world_size() == 2\n"
        "open(f\"{os.environ['PADDLE_JOB_ID']}.{dist.get_rank()}\", 'a').write('x')\n"
    )
    launch = [sys.executable, "-m", "paddle.distributed.launch", "--nnodes", "1"]
    launch += ["--nproc_per_node", "2", "--print_config", "false", "train.py"]
    done = run([*command, *launch], tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "default.0").read_text() == "xx"  # of two jobs


def test_one_process_is_alone(tmp_path, command):
    words = [("1" if word == "2" else word) for word in command]
    text = (
        "import paddle, paddle.distributed.fleet as fleet; fleet.init(is_collective=True); "
        "assert fleet.worker_num() == 1"
    )
    done = run([*words, sys.executable, "-c", text], tmp_path)
    assert done.returncode == 0, done.stderr
