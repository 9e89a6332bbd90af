"""What controllers of Kubernetes set in pods, replayed on hosts that are network namespaces:
``fleetrun`` without flags makes one job of them. The controllers themselves are not run.
"""

from __future__ import annotations

import contextlib
import secrets

import pytest

from support.hosts import ADDRESSES, start_launcher

SCRIPT = """
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("sum", total.item(), "of", dist.get_world_size(), flush=True)
"""


def of_trainer(index: int) -> dict[str, str]:
    """A TrainJob of two nodes with one process each, under ``mlPolicy.torch``."""
    return {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": str(index),
        "PET_MASTER_ADDR": ADDRESSES[0],
        "PET_MASTER_PORT": "29500",
        "JOB_COMPLETION_INDEX": str(index),
        "JOBSET_NAME": "argosy-demo",
        "HOSTNAME": f"argosy-demo-node-0-{index}",
    }


def of_paddle_job(index: int) -> dict[str, str]:
    """A PaddleJob of two workers."""
    return {
        "PADDLE_JOB_ID": "argosy-paddle",
        "PADDLE_NNODES": "2",
        "PADDLE_MASTER": f"{ADDRESSES[0]}:37777",
        "POD_IP_DUMMY": ADDRESSES[index],
        "HOSTNAME": f"argosy-paddle-worker-{index}",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.parametrize("pod", [of_trainer, of_paddle_job], ids=["TrainJob", "PaddleJob"])
def test_pods_become_one_job(tmp_path, hosts, pod):
    (tmp_path / "train.py").write_text(SCRIPT)
    token, launchers = secrets.token_hex(16), []
    with contextlib.ExitStack() as stack:
        for index, host in enumerate(hosts):
            folder = tmp_path / str(index)
            folder.mkdir()
            script = str(tmp_path / "train.py")
            launchers.append(start_launcher(host, folder, token, script, **pod(index)))
            stack.callback(launchers[-1].kill)
        outputs = [launcher.communicate(timeout=90)[0] for launcher in launchers]
    logs = [p.read_text() for p in sorted(tmp_path.glob("*/log/workerlog.*"))]
    assert [launcher.returncode for launcher in launchers] == [0, 0], "\n".join(outputs + logs)
    assert sum("sum 3.0 of 2" in log for log in logs) == 2
