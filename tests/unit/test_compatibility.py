"""What ``make conformance`` and ``make scripts`` print."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "compatibility.py"
spec = importlib.util.spec_from_file_location("compatibility", FILE)
compatibility = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compatibility)


def test_cases_are_counted_by_version_and_topic():
    results = {
        "cases": [
            {"id": "v185-a", "category": "dygraph", "passed": True},
            {"id": "v185-b", "category": "dygraph", "passed": False},
            {"id": "dev-c", "category": "training", "passed": False},
        ]
    }
    rows = compatibility.table(compatibility.of_tests(results), {"dev-c"}).splitlines()
    assert [row.split() for row in rows] == [
        ["v1.8.5", "dygraph", "1", "of", "2"],
        ["all", "1", "of", "2,", "1", "left", "out"],
    ]


def test_the_page_says_what_is_left_out():
    assert "guide-pp" in compatibility.left_out()


def test_a_missing_runner_is_told(tmp_path):
    command = [sys.executable, str(FILE), "tests", "--shared", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "SHARED=FOLDER" in done.stderr
