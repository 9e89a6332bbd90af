"""Files of programs, damaged or hostile, in seeded cases: refused, or run as what they say, and
nothing else happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "damaged_programs.py"


def tried(seed: int, count: int, timeout: float) -> dict[str, dict[str, int]]:
    """The outcomes of ``count`` cases by program; a case that does harm fails here, with its
    number.
    """
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(seed), "0", str(count)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes: dict[str, dict[str, int]] = json.loads(done.stdout)
    assert sum(sum(counts.values()) for counts in outcomes.values()) == count
    return outcomes


def check(outcomes: dict[str, dict[str, int]]) -> None:
    """That the cases reach all that reads a program: every program is refused early and late, and
    runs.
    """
    assert len(outcomes) == 5
    for name, counts in outcomes.items():
        assert min(counts[found] for found in ("refused at load", "refused at run", "same")) > 0, (
            name,
            counts,
        )
        assert name == "control" or not counts["stopped"]


@pytest.mark.attack("a program file with any byte or value replaced, 400 seeded cases")
def test_damaged_programs_are_refused_or_run():
    check(tried(seed=1, count=400, timeout=100))


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.attack("a program file with any byte or value replaced, 20,000 seeded cases")
def test_many_damaged_programs_are_refused_or_run(record_property):
    outcomes = tried(seed=2, count=20_000, timeout=1700)
    record_property("outcomes", json.dumps(outcomes))
    check(outcomes)
