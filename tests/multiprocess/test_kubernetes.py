"""What controllers of Kubernetes set in pods, replayed on hosts that are network namespaces: the
commands of the manifests make one job of them. The controllers themselves are not run.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.hosts import ADDRESSES, joined_hosts, start_launcher

TOP = Path(__file__).resolve().parents[2]
LIMIT_S = 180.0
pytestmark = pytest.mark.timeout(300)

COLLECTIVE = """
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("sum", total.item(), "of", dist.get_world_size(), flush=True)
"""
# the example of the manifests, shortened; every process says how it talks
SERVED = f"""
import runpy, sys
from argosy.runtime.ps.wire import tls
print("talks", "in the clear" if tls.root_certificates() is None else "by TLS", flush=True)
sys.path.insert(0, {str(TOP / "examples")!r})
sys.argv[1:] = ["--steps", "5", "--batch", "32"]
runpy.run_path({str(TOP / "examples" / "wide_deep_ps.py")!r}, run_name="__main__")
"""


@dataclass(frozen=True)
class Pod:
    """One container: the arguments of its ``fleetrun``, and what is set beside the manifest's own
    variables.
    """

    argv: Sequence[str]
    variables: dict[str, str]


def commands(manifest: str) -> list[list[str]]:
    """The arguments of each ``fleetrun`` in a manifest."""
    text = (TOP / "deploy" / "kubernetes" / manifest).read_text()
    found = re.findall(r"command:\n\s+- fleetrun\n((?:\s+- \S+\n)+)", text)
    return [re.findall(r"- (\S+)\n", block) for block in found]


def of_trainer(index: int) -> Pod:
    """A TrainJob of two nodes with one process each, under ``mlPolicy.torch``."""
    [argv] = commands("trainjob.yaml")
    return Pod(
        argv,
        {
            "PET_NNODES": "2",
            "PET_NPROC_PER_NODE": "1",
            "PET_NODE_RANK": str(index),
            "PET_MASTER_ADDR": "argosy-demo-node-0-0.argosy-demo",
            "PET_MASTER_PORT": "29500",
            "JOB_COMPLETION_INDEX": str(index),
            "HOSTNAME": f"argosy-demo-node-0-{index}",
        },
    )


def of_paddle_job(index: int) -> Pod:
    """A PaddleJob of two workers; the first is told its own address, the other a name."""
    [argv] = commands("paddlejob.yaml")
    return Pod(argv, _of_operator("worker", index, num_pods=2, first="worker"))


def of_served_paddle_job(index: int) -> Pod:
    """A PaddleJob of one master, which is a server, and of two workers."""
    if index == 0:
        own = _of_operator("master", 0, num_pods=3, first="master") | {"PADDLE_SERVER_NUM": "1"}
    else:
        own = _of_operator("worker", index - 1, num_pods=3, first="master")
        own["PADDLE_TRAINER_NUM"] = "1"
    return Pod(["examples/wide_deep_ps.py"], own)


def _of_operator(role: str, index: int, num_pods: int, first: str) -> dict[str, str]:
    """What the Training Operator sets in pods of both forms."""
    own = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": "argosy-paddle",
        "PADDLE_NNODES": str(num_pods),
        "HOSTNAME": f"argosy-paddle-{role}-{index}",
    }
    if (role, index) == (first, 0):
        return {**own, "POD_IP_DUMMY": ADDRESSES[0], "PADDLE_MASTER": f"{ADDRESSES[0]}:37777"}
    return {**own, "PADDLE_MASTER": f"argosy-paddle-{first}-0:37777"}


def of_job_set(index: int) -> Pod:
    """The JobSet of two servers and two hosts of workers: an index in each of its jobs."""
    job, number = divmod(index, 2)
    return Pod(
        commands("jobset.yaml")[job],
        {
            "JOB_COMPLETION_INDEX": str(number),
            "HOSTNAME": f"argosy-ctr-{('servers', 'workers')[job]}-0-{number}",
        },
    )


# as the services of the jobs answer for the first pods
NAMES = {
    "argosy-demo-node-0-0.argosy-demo": ADDRESSES[0],
    "argosy-paddle-worker-0": ADDRESSES[0],
    "argosy-paddle-master-0": ADDRESSES[0],
    "argosy-ctr-servers-0-0.argosy-ctr": ADDRESSES[0],
}


@pytest.fixture
def pods(request) -> Iterator[list[str]]:
    with joined_hosts(request.param) as names:
        yield names


def run(folder: Path, hosts: Sequence[str], pod, script: str) -> list[str]:
    """Start the pods' containers and await them; what each process has written, by its log."""
    token, launchers = secrets.token_hex(16), []
    volume = folder / "volume"
    volume.mkdir()
    with contextlib.ExitStack() as stack:
        for index, host in enumerate(hosts):
            found = pod(index)
            own = folder / str(index)
            (own / "examples").mkdir(parents=True)
            (own / "tmp").mkdir()
            (own / "checkpoints").symlink_to(volume)  # which all pods mount
            (own / found.argv[-1]).write_text(script)
            variables = {**found.variables, "TMPDIR": str(own / "tmp")}
            launchers.append(
                start_launcher(host, own, token, *found.argv, names=NAMES, **variables)
            )
            stack.callback(launchers[-1].kill)
        outputs = [launcher.communicate(timeout=LIMIT_S)[0] for launcher in launchers]
    logs = [p.read_text() for p in sorted(folder.glob("*/log/*log.*"))]
    assert [launcher.returncode for launcher in launchers] == [0] * len(hosts), "\n".join(
        outputs + logs
    )
    return logs


@pytest.mark.parametrize("pod", [of_trainer, of_paddle_job], ids=["TrainJob", "PaddleJob"])
def test_pods_become_one_job(tmp_path, hosts, pod):
    logs = run(tmp_path, hosts, pod, COLLECTIVE)
    assert sum("sum 3.0 of 2" in log for log in logs) == 2


@pytest.mark.parametrize(
    ("pods", "pod", "processes"),
    [(4, of_job_set, 6), (3, of_served_paddle_job, 3)],
    ids=["JobSet", "PaddleJob"],
    indirect=["pods"],
)
def test_pods_of_servers_and_of_workers_become_one_job(tmp_path, pods, pod, processes):
    """They meet at a name, by themselves, and encrypt what they say."""
    logs = run(tmp_path, pods, pod, SERVED)
    assert len(logs) == processes
    assert all("talks by TLS" in log for log in logs), "\n".join(logs)
    assert sum("AUC on unseen clicks" in log for log in logs) == 1
