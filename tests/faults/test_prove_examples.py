"""The examples under ``argosy prove``: killed again and again, they end with the same bits."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TWO_RANKS = ["--nproc_per_node", "2"]
SERVED = ["--server_num", "1", "--worker_num", "2"]
FEW = ["--steps", "50", "--batch", "128"]
COMMANDS = {
    "gpt_fleet": [*TWO_RANKS, "gpt_fleet.py", "--steps", "60"],
    "torch_fleet": [*TWO_RANKS, "torch_fleet.py", "--epochs", "3", "--samples", "1500"],
    "resnet_images": ["resnet_images.py", "--images", "640", "--epochs", "3"],
    "resnet_images static": [
        "resnet_images.py", "--images", "640", "--epochs", "3", "--mode", "static",
    ],
    "wide_deep_ps": ["--server_num", "2", "--worker_num", "2", "wide_deep_ps.py", *FEW],
    "ctr_torch_ps": [*SERVED, "ctr_torch_ps.py", *FEW, "--sync"],
    "ctr_torch_ps that restarts workers": [
        *SERVED, "--max_restart", "9", "ctr_torch_ps.py", *FEW, "--sync",
    ],
}  # fmt: skip
NUM_FAULTS = 4
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


def prove(folder, options, command):
    words = [str(EXAMPLES / word) if word.endswith(".py") else word for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "argosy", "prove", *options, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.attack("an example is killed by a seeded plan (argosy prove): same bits")
@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_passes(tmp_path, name):
    code, said = prove(tmp_path, ["--seed", "1", "--faults", str(NUM_FAULTS)], COMMANDS[name])
    assert code == 0, said
    assert f"PASS (seed 1): {NUM_FAULTS} faults" in said
    assert len(re.findall(r" same +│", said)) == NUM_FAULTS
    assert list(tmp_path.iterdir()) == []


@pytest.mark.attack("asynchronous servers: their numbers are not the same twice, and prove says so")
def test_asynchronous_servers_are_not_deterministic(tmp_path):
    code, said = prove(
        tmp_path, ["--seed", "1", "--faults", "1"], [*SERVED, "ctr_torch_ps.py", *FEW]
    )
    assert code == 3, said
    assert "NOT DETERMINISTIC" in said
    kept = Path(re.search(r"what the job has kept: (.*)", said)[1])
    assert kept.is_dir()
    shutil.rmtree(kept)
