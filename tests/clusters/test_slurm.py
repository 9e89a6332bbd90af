"""``fleetrun --scheduler slurm`` on a real Slurm: a controller and two nodes, each its own host.

The job trains 12 steps with a checkpoint after every fourth. It can be held before a step, so that
what happens to it happens there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clusters.slurm_cluster import ADDRESS_BY_NODE, Cluster

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRAIN = """
import json, os, sys, time
import numpy as np
import paddle
import paddle.distributed.fleet as fleet

fleet.init(is_collective=True)
rank = fleet.worker_index()
paddle.seed(7)
model = paddle.nn.Sequential(paddle.nn.Linear(3, 8), paddle.nn.Dropout(0.3), paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
optimizer = fleet.distributed_optimizer(optimizer)
model = fleet.distributed_model(model)
rows = np.random.default_rng(0).random((24, 3), "float32")
data = paddle.io.TensorDataset([paddle.to_tensor(rows)])
sampler = paddle.io.DistributedBatchSampler(data, 2, shuffle=True)
loader = paddle.io.DataLoader(data, batch_sampler=sampler)
run = fleet.auto_checkpoint("ckpt", 4, model=model, optimizer=optimizer, loader=loader)
for epoch in run.epochs(2):
    for (x,) in run.batches():
        if run.num_steps == int(os.environ.get("HOLD_AT", -1)) and not os.path.exists("go"):
            open(f"held.{rank}", "w").close()
            while not os.path.exists("go"):
                time.sleep(0.05)
        if run.num_steps == int(os.environ.get("FAIL_AT", -1)) and rank == 1:
            sys.exit(9)
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        with open(f"steps.{rank}", "a") as file:
            print(run.num_steps, file=file)
np.savez(f"final.{rank}", *[p.numpy() for p in model.parameters()])
json.dump(
    [sys.argv[1:], paddle.distributed.get_world_size(), os.environ["PADDLE_CURRENT_ENDPOINT"]],
    open(f"told.{rank}", "w"),
)
"""
WORDS = (
    "a b",
    'say "it\'s"',
    "$HOME `id` $(id)",
    "two\nlines",
    "crlf\r\n#SBATCH --nodes=9",
    "*",
    "",
)


@pytest.fixture
def nothing_left() -> None:
    """Nodes that a test switches on again are not left behind; ``assert_nothing_left`` looks at
    what is on them.
    """


@pytest.fixture(autouse=True)
def report(slurm: Cluster, tmp_path: Path) -> Iterator[None]:
    """When a test fails, what the job and the daemons have said is on stdout."""
    yield
    for path in (*tmp_path.glob("slurm-*.out"), *tmp_path.glob("log/**/workerlog.*")):
        print(f"== {path.relative_to(tmp_path)}\n{path.read_text(errors='replace')[-4000:]}")
    for path in slurm.folder.glob("*.log"):
        print(f"== {path.name}\n{path.read_text(errors='replace')[-2000:]}")


def submit(slurm: Cluster, folder: Path, *words: str, **variables: str) -> str:
    """Hand the training to Slurm; returns the job's number."""
    (folder / "train.py").write_text(TRAIN)
    return fleetrun(slurm, folder, "train.py", *words, **variables)


def fleetrun(slurm: Cluster, folder: Path, *words: str, **variables: str) -> str:
    return slurm.call(
        *(sys.executable, "-m", "paddle.distributed.launch", "--scheduler", "slurm"),
        *("--nodes", "2", *words),
        cwd=folder,
        **{"OMP_NUM_THREADS": "1", **variables},
    ).strip()


def wait_until_held(slurm: Cluster, folder: Path) -> None:
    slurm.wait(lambda: len(list(folder.glob("held.*"))) == 2, "both ranks are held")


def let_go(folder: Path) -> None:
    (folder / "go").touch()


def steps(folder: Path, rank: int) -> list[int]:
    return [int(line) for line in (folder / f"steps.{rank}").read_text().split()]


def final(folder: Path, rank: int) -> list[np.ndarray]:
    with np.load(folder / f"final.{rank}.npz") as arrays:
        return [arrays[name] for name in arrays.files]


def assert_same_end(folder: Path, whole: Path) -> None:
    for rank in (0, 1):
        for found, expected in zip(final(folder, rank), final(whole, rank), strict=True):
            np.testing.assert_array_equal(found, expected)


def assert_nothing_left(slurm: Cluster, folder: Path) -> None:
    for name in ADDRESS_BY_NODE:
        slurm.wait_until_empty(name)
    assert not list(folder.glob(".argosy*"))
    assert not os.listdir("/dev/shm")


def run_now(slurm: Cluster, number: str) -> None:
    """A job that was put back waits two minutes, for what ended it to be over; this one starts soon
    after it is. Credentials are revoked by the second.
    """
    slurm.wait_for(number, "PENDING")
    slurm.wait(lambda: slurm.states() == {"idle"}, "the nodes are idle")
    slurm.call("scontrol", "update", f"JobId={number}", "StartTime=now+3")


@pytest.fixture(scope="module")
def whole(slurm: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a job to which nothing happened."""
    folder = tmp_path_factory.mktemp("whole")
    number = submit(slurm, folder, *WORDS)
    with contextlib.suppress(AssertionError):
        slurm.wait_for(number, "COMPLETED", "FAILED")
    said = "\n".join(path.read_text() for path in folder.glob("slurm-*.out"))
    assert slurm.state(number) == "COMPLETED", said
    return folder


def test_a_job_of_two_nodes_finishes_and_its_arguments_arrive(slurm, whole):
    for rank, address in enumerate(ADDRESS_BY_NODE.values()):
        words, world_size, endpoint = json.loads((whole / f"told.{rank}").read_text())
        assert words == list(WORDS)
        assert world_size == 2
        assert endpoint.split(":")[0] == address
        assert steps(whole, rank) == list(range(12))
    assert_nothing_left(slurm, whole)


def test_the_secret_is_in_a_file_and_nowhere_else(slurm, tmp_path):
    given = "0123456789abcdef-given-by-the-user"
    number = submit(slurm, tmp_path, HOLD_AT="2", ARGOSY_TOKEN=given)
    wait_until_held(slurm, tmp_path)
    (path,) = tmp_path.glob(".argosy*")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = path.read_text().strip()
    assert re.fullmatch("[0-9a-f]{32}", secret)
    shown = slurm.call("scontrol", "show", "--details", "job", number)
    shown += slurm.call("scontrol", "write", "batch_script", number, "-")
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            shown += (process / "cmdline").read_text(errors="replace")
            shown += (process / "environ").read_text(errors="replace")
    for folder in (slurm.folder, tmp_path):
        for file in folder.rglob("*"):
            if file != path and file.is_file():
                shown += file.read_text(errors="replace")
    assert "SLURM_JOB_ID" in shown
    assert secret not in shown
    assert given not in shown
    let_go(tmp_path)
    slurm.wait_for(number, "COMPLETED")
    assert_nothing_left(slurm, tmp_path)


def test_scancel_leaves_nothing(slurm, tmp_path):
    """Not even of workers that do not answer."""
    number = submit(slurm, tmp_path, HOLD_AT="2")
    wait_until_held(slurm, tmp_path)
    slurm.call("scancel", number)
    slurm.wait_for(number, "CANCELLED")
    assert_nothing_left(slurm, tmp_path)
    slurm.wait(lambda: slurm.states() == {"idle"}, "the nodes are idle")
    assert slurm.state(number) == "CANCELLED"


def test_a_rank_that_fails_ends_the_job_and_is_not_started_again(slurm, tmp_path):
    number = submit(slurm, tmp_path, FAIL_AT="6")
    slurm.wait_for(number, "FAILED")
    assert slurm.job(number)["Restarts"] == "0"
    said = (tmp_path / f"slurm-{number}.out").read_text()
    assert re.search(r"launch: rank \d .*exited with code", said)
    assert_nothing_left(slurm, tmp_path)


def test_servers_and_workers_are_on_both_nodes(slurm, tmp_path):
    example = str(EXAMPLES / "wide_deep_ps.py")
    number = fleetrun(
        slurm, tmp_path, "--server_num", "2", "--worker_num", "2", example, "--steps", "20"
    )
    slurm.wait_for(number, "COMPLETED", "FAILED")
    said = (tmp_path / f"slurm-{number}.out").read_text()
    assert slurm.state(number) == "COMPLETED", said
    assert "AUC on unseen clicks" in said
    for name in ADDRESS_BY_NODE:
        found = {path.name.partition(".")[0] for path in (tmp_path / "log" / name).iterdir()}
        assert {"serverlog", "workerlog"} <= found
    assert_nothing_left(slurm, tmp_path)


def test_a_job_that_is_requeued_in_the_middle_ends_with_equal_bits(slurm, whole, tmp_path):
    number = submit(slurm, tmp_path, HOLD_AT="6")
    wait_until_held(slurm, tmp_path)
    slurm.call("scontrol", "requeue", number)
    run_now(slurm, number)
    let_go(tmp_path)
    slurm.wait_for(number, "COMPLETED")
    assert steps(tmp_path, 0) == [*range(6), *range(4, 12)]
    assert_same_end(tmp_path, whole)
    assert_nothing_left(slurm, tmp_path)


def test_a_job_that_is_asked_to_save_comes_back_and_no_step_is_repeated(slurm, whole, tmp_path):
    """As Slurm asks before the time is over."""
    number = submit(slurm, tmp_path, HOLD_AT="6")
    wait_until_held(slurm, tmp_path)
    slurm.call("scancel", "--signal=USR1", "--batch", number)
    out = tmp_path / f"slurm-{number}.out"
    slurm.wait(lambda: out.read_text().count("asked by SIGUSR1") == 2, "both launchers are asked")
    let_go(tmp_path)
    run_now(slurm, number)
    slurm.wait_for(number, "COMPLETED")
    assert slurm.job(number)["Restarts"] == "1"
    assert re.search(r"saved at step \d, exit 75", out.read_text())
    for rank in (0, 1):
        assert steps(tmp_path, rank) == list(range(12))
    assert_same_end(tmp_path, whole)
    assert_nothing_left(slurm, tmp_path)


def test_a_job_that_is_cancelled_while_it_saves_does_not_come_back(slurm, tmp_path):
    number = submit(slurm, tmp_path, HOLD_AT="2")
    wait_until_held(slurm, tmp_path)
    slurm.call("scancel", "--signal=USR1", "--batch", number)
    out = tmp_path / f"slurm-{number}.out"
    slurm.wait(lambda: out.read_text().count("asked by SIGUSR1") == 2, "both launchers are asked")
    slurm.call("scancel", number)
    let_go(tmp_path)
    slurm.wait_for(number, "CANCELLED")
    assert_nothing_left(slurm, tmp_path)
    slurm.wait(lambda: slurm.states() == {"idle"}, "the nodes are idle")
    assert slurm.state(number) == "CANCELLED"


@pytest.mark.parametrize("name", ["n1", "n2"])
def test_a_node_that_crashes_sends_the_job_back_to_the_queue(slurm, whole, tmp_path, name):
    number = submit(slurm, tmp_path, HOLD_AT="6")
    wait_until_held(slurm, tmp_path)
    slurm.crash_node(name)
    slurm.wait_for(number, "PENDING")
    let_go(tmp_path)
    slurm.start_node(name)
    run_now(slurm, number)
    slurm.wait_for(number, "COMPLETED")
    assert_same_end(tmp_path, whole)
    assert_nothing_left(slurm, tmp_path)


def test_a_slurmd_that_is_killed_sends_the_job_back_to_the_queue(slurm, whole, tmp_path):
    """The processes of its node live on for a while; two launchers of one job never mix."""
    number = submit(slurm, tmp_path, HOLD_AT="6")
    wait_until_held(slurm, tmp_path)
    slurm.kill_slurmd("n2")
    slurm.wait_for(number, "PENDING")
    let_go(tmp_path)
    slurm.crash_node("n2")
    slurm.start_node("n2")
    run_now(slurm, number)
    slurm.wait_for(number, "COMPLETED")
    assert_same_end(tmp_path, whole)
    assert_nothing_left(slurm, tmp_path)
