"""``make nightly``: a choice of the tests with newer versions of torch and with other Pythons, each
in a venv of its own that is removed afterwards; what cannot be had is skipped by name.

``python tests/packaging/nightly.py [--torch 2.14 2.15] [--python python3.12 ...] [TEST ...]``
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TORCHES = ("2.14", "2.15")
PYTHONS = ("python3.12", "python3.13")
# what stands on torch's private names, on the import system and on several processes
CHOICE = (
    "tests/architecture/test_alias.py",
    "tests/unit/alias",
    "tests/unit/test_command.py",
    "tests/unit/autograd",
    "tests/unit/optimizer",
    "tests/unit/runtime/parallel",
    "tests/conformance/test_goldens.py",
    "tests/multiprocess/test_data_parallel.py",
    "tests/multiprocess/test_elastic.py",
)


@dataclass(frozen=True)
class Case:
    """One row of the result: an interpreter, and the torch that pip is asked for."""

    python: str
    torch: str = ""  # empty: what constraints.txt says

    def __str__(self) -> str:
        return f"{Path(self.python).name}, torch {self.torch or 'as constrained'}"


def try_out(case: Case, tests: Sequence[str], folder: Path) -> str:
    """Install and test in a new venv in ``folder``; what came of it in a line."""
    interpreter = shutil.which(case.python)
    if interpreter is None:
        return f"skipped: there is no {case.python}"
    made = subprocess.run([interpreter, "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode != 0:
        return f"skipped: {case.python} makes no venv: {last_line(made.stdout + made.stderr)}"
    python = folder / "bin" / "python"
    wanted = [f"torch=={case.torch}.*"] if case.torch else ["-c", "constraints.txt"]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for what in (["-e", ".[dev]"], ["./packages/argosy-paddle"]):
        done = subprocess.run([*pip, *wanted, *what], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            return f"skipped: pip cannot install it: {last_line(done.stderr)}"
    code = subprocess.call(
        [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not thorough", *tests],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    return "passed" if code == 0 else f"FAILED: pytest ended with {code}"


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", nargs="*", default=TORCHES, help="versions, such as 2.14")
    parser.add_argument("--python", nargs="*", default=PYTHONS, help="interpreters")
    parser.add_argument("tests", nargs="*", default=CHOICE)
    given = parser.parse_args()
    cases = [Case(sys.executable, torch) for torch in given.torch]
    cases += [Case(python) for python in given.python]
    results = {}
    for case in cases:
        print(f"== {case}", flush=True)
        with tempfile.TemporaryDirectory(prefix="argosy-nightly-") as folder:
            results[case] = try_out(case, given.tests, Path(folder) / "venv")
    for case, result in results.items():
        print(f"{case!s:<40} {result}")
    return int(any(result.startswith("FAILED") for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
