"""``srun python train.py`` and ``srun fleetrun train.py`` on a real Slurm, without a script of
ours: what the tasks of a step train is what one process trains with the whole batch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusters.one_model import assert_one_model, hosts, write
from clusters.slurm_cluster import ADDRESS_BY_NODE, Cluster

PYTHON = (sys.executable, "train.py")
LAUNCH = (sys.executable, "-m", "paddle.distributed.launch", "--log_dir", "", "train.py")
LIMIT_S = 240


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def run(slurm: Cluster, folder: Path, *words: str, **variables: str):
    """A command of a user on the head; its code and all that it said."""
    environment = {**slurm.environment, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        words, cwd=folder, env=environment, timeout=LIMIT_S, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "on"),
    [
        (["-N", "2", "-n", "2"], ["n1", "n2"]),
        (["-N", "1", "-n", "2"], ["n1", "n1"]),
        (["-N", "2", "-n", "4"], ["n1", "n1", "n2", "n2"]),
        (["-N", "2", "-n", "4", "--distribution=cyclic"], ["n1", "n2", "n1", "n2"]),
    ],
    ids=["two nodes", "one node", "two on each node", "two on each node, in turn"],
)
def test_the_tasks_of_a_step_are_ranks(slurm, folder, alone, options, on):
    done = run(slurm, folder, "srun", *options, *PYTHON, ARGOSY_TOKEN_FILE=str(folder / "token"))
    assert done.returncode == 0, done.stdout
    assert hosts(folder, len(on)) == on
    assert_one_model(folder, len(on), alone)


def test_one_host_needs_no_token(slurm, folder, alone):
    done = run(slurm, folder, "srun", "-N", "1", "-n", "2", *PYTHON)
    assert done.returncode == 0, done.stdout
    assert_one_model(folder, 2, alone)


def test_hosts_without_a_token_say_what_is_missing(slurm, folder):
    done = run(slurm, folder, "srun", "-N", "2", "-n", "2", *PYTHON)
    assert done.returncode != 0
    assert "ARGOSY_TOKEN_FILE" in done.stdout
    assert not list(folder.glob("final.*"))


@pytest.mark.parametrize("nproc", [1, 2])
def test_a_launcher_on_each_node_needs_no_flags(slurm, folder, alone, nproc):
    done = run(
        slurm, folder, "srun", "-N", "2", "--ntasks-per-node", "1", *LAUNCH,
        ARGOSY_TOKEN_FILE=str(folder / "token"), PADDLE_NPROC_PER_NODE=str(nproc),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert hosts(folder, 2 * nproc) == sorted([*ADDRESS_BY_NODE] * nproc)
    assert_one_model(folder, 2 * nproc, alone)


def test_launchers_on_one_node_are_refused(slurm, folder):
    done = run(slurm, folder, "srun", "-N", "1", "-n", "2", *LAUNCH)
    assert done.returncode != 0
    assert "Let it start one launcher per host" in done.stdout


def test_a_process_in_an_allocation_but_in_no_step_is_alone(slurm, folder, alone):
    """The script of sbatch and the command of salloc are one process, whatever was allocated."""
    script = folder / "job.sh"
    script.write_text(f"#!/bin/sh\n{sys.executable} train.py batch\n")
    done = run(slurm, folder, "sbatch", "--wait", "-N", "2", "-n", "4", str(script))
    said = "".join(path.read_text() for path in folder.glob("slurm-*.out"))
    assert done.returncode == 0, done.stdout + said
    done = run(slurm, folder, "salloc", "-N", "2", "-n", "4", *PYTHON, "salloc")
    assert done.returncode == 0, done.stdout
    for name in ("batch", "salloc"):
        assert_one_model(folder, 1, alone, name)


def test_a_script_that_is_submitted_in_a_step_is_no_task_of_it(slurm, folder, alone):
    """sbatch hands on the environment in which it is called."""
    script = folder / "job.sh"
    script.write_text(f"#!/bin/sh\n{sys.executable} train.py inner\n")
    submit = 'test "$SLURM_PROCID" != 0 || sbatch --parsable -N 1 -n 1 job.sh'
    done = run(slurm, folder, "srun", "--quiet", "-N", "2", "-n", "2", "sh", "-c", submit)
    number = done.stdout.strip()
    assert number.isdigit(), done.stdout
    slurm.wait_for(number, "COMPLETED", "FAILED")
    assert slurm.state(number) == "COMPLETED", (folder / f"slurm-{number}.out").read_text()
    assert_one_model(folder, 1, alone, "inner")


def test_two_steps_of_one_job_do_not_meet(slurm, folder, alone):
    script = folder / "job.sh"
    lines = [
        f"srun --exact -N 2 -n 2 {sys.executable} train.py {name} & {name}=$!" for name in "ab"
    ]
    script.write_text("\n".join(["#!/bin/sh", *lines, "wait $a && wait $b", ""]))
    done = run(
        slurm, folder, "sbatch", "--wait", "-N", "2", "-n", "4", str(script),
        ARGOSY_TOKEN_FILE=str(folder / "token"),
    )  # fmt: skip
    said = "".join(path.read_text() for path in folder.glob("slurm-*.out"))
    assert done.returncode == 0, done.stdout + said
    for name in "ab":
        assert_one_model(folder, 2, alone, name)


def test_torchrun_in_the_tasks_of_a_step(slurm, folder, alone):
    torchrun = (
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "2"),
        *("--rdzv_backend", "c10d", "--rdzv_endpoint", "n1:29511", "--rdzv_id", "a", "train.py"),
    )
    done = run(
        slurm, folder, "srun", "-N", "2", "-n", "2", *torchrun,
        ARGOSY_TOKEN_FILE=str(folder / "token"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert_one_model(folder, 4, alone)
    assert not os.listdir("/dev/shm")
