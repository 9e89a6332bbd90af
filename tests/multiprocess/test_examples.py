"""The examples run by the command in their first line, shortened."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        (
            "gpt_fleet.py",
            ["--steps", "12"],
            ["recompute (checkpoints=('blocks.0', 'blocks.1'))", "step   12  loss", "right:"],
        ),
        (
            "torch_fleet.py",
            ["--epochs", "1", "--samples", "256"],
            ["sharding (stage=2", "epoch 0  loss", "worker 0 keeps"],
        ),
    ],
)
def test_an_example(tmp_path, script, arguments, expected):
    command = [
        sys.executable,
        "-m",
        "paddle.distributed.launch",
        "--nproc_per_node",
        "2",
        str(EXAMPLES / script),
        *arguments,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    for part in expected:
        assert part in output
