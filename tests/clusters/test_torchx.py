"""``deploy/torchx/fleet.py`` under TorchX, on this host: servers and workers as two roles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "wide_deep_ps.py"
TOLD = """
import json, os, sys
role = os.environ["TRAINING_ROLE"], os.environ.get("PADDLE_TRAINER_ID", "")
json.dump(sys.argv[1:], open("-".join(role), "w"))
"""


@pytest.fixture
def torchx(tmp_path: Path):
    """Runs the component and waits for its end: the exit code and what was said."""
    programs = tmp_path / "bin"
    programs.mkdir()
    fleetrun = programs / "fleetrun"
    fleetrun.write_text(f'#!/bin/sh\nexec {sys.executable} -m paddle.distributed.launch "$@"\n')
    fleetrun.chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip

    def run(script: Path, *words: str, servers: int = 1, workers: int = 2) -> tuple[int, str]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "torchx.cli.main", "run", "--wait"),
                *("--scheduler", "local_cwd", "--scheduler_args", f"log_dir={tmp_path / 'logs'}"),
                *(f"{ROOT / 'deploy/torchx/fleet.py'}:ps", "--script", str(script)),
                *("--servers", str(servers), "--workers", str(workers), "--", *words),
            ],
            cwd=tmp_path, env=environment, timeout=300, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.returncode, done.stdout

    return run


def logs(folder: Path, role: str) -> list[str]:
    """What the replicas of a role have printed."""
    found = sorted((folder / "logs").rglob(f"{role}/*/stdout.log"))
    return [path.read_text(errors="replace") for path in found]


def test_two_roles_train_one_model(tmp_path, torchx):
    code, said = torchx(EXAMPLE, "--steps", "20")
    assert code == 0, said
    assert len(logs(tmp_path, "servers")) == 1
    workers = logs(tmp_path, "workers")
    assert len(workers) == 2
    assert any("AUC on unseen clicks" in text for text in workers), workers
    assert not os.listdir("/dev/shm")


def test_arguments_arrive_as_they_are(tmp_path, torchx):
    words = ["a b", 'say "it\'s"', "$HOME `id`", "--master", "x:1"]
    (tmp_path / "told.py").write_text(TOLD)
    code, said = torchx(tmp_path / "told.py", *words)
    assert code == 0, said
    told = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("*-*")}
    assert told == dict.fromkeys(("PSERVER-", "TRAINER-0", "TRAINER-1"), words)


def test_a_worker_that_fails_fails_the_job(tmp_path, torchx):
    (tmp_path / "fails.py").write_text(
        "import os, sys\nsys.exit(9 if os.environ['TRAINING_ROLE'] == 'TRAINER' else 0)\n"
    )
    code, said = torchx(tmp_path / "fails.py")
    assert code != 0, said
