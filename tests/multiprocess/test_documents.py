"""The examples of Paddle's documents run as they stand, by the commands that the documents name."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).resolve().parents[1] / "documents"
DEADLINE_S = 90.0  # three interpreters that import torch, on a busy machine


def run(
    folder: Path, document: str, script: str, *command: str
) -> subprocess.CompletedProcess[str]:
    """Run ``python *command script`` with a document's example as ``script``."""
    shutil.copy(DOCUMENTS / document, folder / script)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PADDLE_", "FLAGS_"))
    }
    return subprocess.run(
        [sys.executable, *command, script],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )


def test_parallel_env_example(tmp_path):
    done = run(
        tmp_path,
        "parallel_env.py",
        "example.py",
        "-m",
        "paddle.distributed.launch",
        "--selected_gpus=0,1",
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "2 CPU worker" in done.stderr or "GPU" not in done.stderr


def test_data_parallel_example(tmp_path):
    done = run(tmp_path, "data_parallel.py", "demo.py")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_parallel_env_attributes(monkeypatch, capsys):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "4")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "0")
    monkeypatch.setenv("FLAGS_selected_gpus", "1")
    monkeypatch.setenv("PADDLE_CURRENT_ENDPOINT", "127.0.0.1:6170")
    monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:6170,127.0.0.1:6171")
    path = DOCUMENTS / "parallel_env_attributes.py"
    runpy.run_path(str(path))
    announced = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == announced


@pytest.mark.filterwarnings("ignore:no GPU is available:UserWarning")
def test_parallel_env_example_alone(monkeypatch):
    """The same script with one process: prepare_context gives None and the wrapper passes
    through.
    """
    for name in ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID", "FLAGS_selected_gpus"):
        monkeypatch.delenv(name, raising=False)
    names = runpy.run_path(str(DOCUMENTS / "parallel_env.py"))
    assert names["strategy"] is None
    assert names["avg_loss"].shape == [1]
    assert abs(float(names["avg_loss"]) - 0.1) < 1e-6
