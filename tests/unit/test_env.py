"""``python -m argosy.env``: what was detected, and why."""

from __future__ import annotations

import subprocess
import sys

import pytest

from argosy import env
from argosy.runtime.launch import environments
from argosy.runtime.launch.environments import find
from support.environments import (
    OPEN_MPI,
    PADDLE,
    PADDLE_JOB,
    PADDLE_OPERATOR,
    SBATCH,
    SLURM,
    TORCHRUN,
    TRAINER,
    VOLCANO,
)

TOKEN = {"ARGOSY_TOKEN": "0123456789abcdef"}


def said(environment: dict[str, str]) -> str:
    return "\n".join(env.report(environment))


def test_a_process_by_itself():
    words = said({"HOME": "/root"})
    assert "variables here:\n  none\n" in words
    assert "python train.py: one process by itself" in words
    assert "fleetrun train.py: this host by itself" in words
    assert "one process by itself" in said(SBATCH)


@pytest.mark.parametrize(
    ("environment", "rank", "host"),
    [
        (TORCHRUN, "rank 1 of 2, by torchrun; the ranks meet through", "an error"),
        (OPEN_MPI, "rank 1 of 2, by mpirun of Open MPI; the ranks meet by a file", "an error"),
        (SLURM, "rank 4 of 7, by srun of Slurm; the ranks meet at n1:", "an error"),
        (TRAINER, "an error", "host 1 of 2, by Kubeflow's Trainer"),
        (VOLCANO, "rank 2 of 3", "host 2 of 3"),
        (PADDLE, "rank 1 of 2, by Paddle's own variables", "this host by itself"),
        (PADDLE_OPERATOR, "rank 1 of 2, by PaddleJob of paddle-operator", "host 1 of 2, by"),
    ],
)
def test_what_a_script_and_a_launcher_would_do(environment, rank, host):
    words = said(environment | TOKEN)
    assert f"python train.py: {rank}" in words
    assert f"fleetrun train.py: {host}" in words
    for placement in find(environment).values():
        assert placement.shown(environment) in words


def test_launchers_that_contradict_each_other_are_both_shown():
    words = said(TORCHRUN | SLURM)
    assert "torchrun: torchrun: rank 1 of 2, local rank 1 of 2, host 0 of 1" in words
    assert "slurm: srun of Slurm: rank 4 of 7, local rank 1 of 3, host 1 of 3" in words
    assert "python train.py: an error:\n  two launchers" in words


def test_several_hosts_without_a_token_are_told_so():
    words = said(SLURM)
    assert "python train.py: an error:\n  n1:" in words
    assert "neither ARGOSY_TOKEN nor ARGOSY_TOKEN_FILE is set" in words
    secret = "ARGOSY_TOKEN is not set: the first one makes it, the others need it"
    assert secret in said(VOLCANO)
    assert "ARGOSY_TOKEN" not in said(VOLCANO | {"ARGOSY_TOKEN_FILE": "token"})
    assert "ARGOSY_TOKEN" not in said(TORCHRUN)  # on one host
    assert "ARGOSY_TOKEN" not in said(PADDLE)


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({}, 0),
        (VOLCANO | TOKEN, 0),
        (VOLCANO, 2),
        (PADDLE_JOB | {"PADDLE_TRAINER_NUM": "1"}, 2),
        ({"PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ID": "0"}, 2),
        (TORCHRUN | {"RANK": "2"}, 2),
    ],
)
def test_the_exit_code_is_that_of_a_script(monkeypatch, capsys, variables, code):
    for name in environments.SIGNS:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert env.main() == code
    assert ("python train.py: an error" in capsys.readouterr().out) == bool(code)


def test_the_command(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    done = subprocess.run(
        [sys.executable, "-m", "argosy.env"], text=True, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "backends: shm, gloo" in done.stdout
