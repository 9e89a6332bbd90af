"""The examples of Fleet's document run as they stand: alone, as two workers, and by fleetrun."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.distributed.fleet.base._role_facts import VARIABLES
from multiprocess.job import run_job

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "documents" / "fleet").glob("*.py"))
DEADLINE_S = 90.0  # three interpreters that import torch, on a busy machine


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_alone(path, monkeypatch, tmp_path, capsys):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    announced = [line[1:].strip() for line in path.read_text().splitlines() if line.startswith("#    current lr")]
    if announced:
        assert capsys.readouterr().out.splitlines() == announced


def test_two_workers(pool, tmp_path):
    """All of them in turn; each worker has a folder of its own."""
    paths = [str(path) for path in EXAMPLES]
    assert run_job(pool, "multiprocess.fleet_base_workers:examples", 2, paths=paths, folder=str(tmp_path)) == [0, 1]


def test_fleetrun(tmp_path):
    shutil.copy(next(path for path in EXAMPLES if path.stem == "distributed_model"), tmp_path / "example.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "FLAGS_"))}
    done = subprocess.run(
        [sys.executable, "-m", "paddle.distributed.launch", "--gpus=0,1", "example.py"],
        cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=DEADLINE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("loss:") == 1  # the terminal shows the first worker
    assert "loss:" in (tmp_path / "log" / "workerlog.1").read_text()
