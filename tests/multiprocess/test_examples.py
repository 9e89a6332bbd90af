"""The examples run by the command in their first line, shortened."""

from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command_of(script):
    """What the first line says, with this interpreter and for any working folder."""
    line = (ROOT / "examples" / script).read_text().splitlines()[0]
    words = shlex.split(line.removeprefix('"""').partition("    (or: ")[0])
    assert words[0] == "fleetrun"
    assert words[-1] == f"examples/{script}"
    return [sys.executable, "-m", "paddle.distributed.launch", *words[1:-1], str(ROOT / words[-1])]


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
        (
            "wide_deep_ps.py",
            ["--steps", "10", "--batch", "128"],
            ["step 10: loss 0.", "AUC on unseen clicks: 0."],
        ),
        (
            "ctr_torch_ps.py",
            ["--steps", "12", "--batch", "128"],
            ["step 12: loss 0.", "AUC on unseen clicks: 0."],
        ),
    ],
)
def test_an_example(tmp_path, script, arguments, expected):
    command = [*command_of(script), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    for part in expected:
        assert part in output
