"""``make conformance`` and ``make scripts``: Paddle's own tests and public scripts, on the package
that this interpreter has; ``python tests/compatibility.py tests|scripts [--only id,id]``.

The runners and the repositories they read are no part of this project: they are found in
``--shared`` and ``--mirror``. Prints what the runner prints, then how many pass by version and
topic, with those apart that ``docs/compatibility.md`` leaves out.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"


class Case(NamedTuple):
    """One result: its id, the version it is of, what it is about, whether it passed."""

    id: str
    version: str
    topic: str
    passed: bool


def left_out() -> set[str]:
    """The ids in the tables of the page's chapter on what is left out."""
    _, _, chapter = PAGE.read_text().partition("\n## Left out\n")
    return set(re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\|.*", chapter, re.MULTILINE))))


def of_tests(results: dict) -> list[Case]:
    versions = {"dev": "develop", "v262": "v2.6.2", "v185": "v1.8.5"}
    return [
        Case(c["id"], versions.get(c["id"].split("-")[0], "other"), c["category"], c["passed"])
        for c in results["cases"]
    ]


def of_scripts(results: dict, cases: Path) -> list[Case]:
    head, *rows = (line.split("\t") for line in cases.read_text().splitlines())
    facts = {row[0]: dict(zip(head, row, strict=False)) for row in rows}
    return [
        Case(name, facts[name]["era"], facts[name]["kind"], result["ok"])
        for name, result in results.items()
    ]


def table(cases: Iterable[Case], without: set[str]) -> str:
    """Rows ``version, topic, N of M``, and the sum."""
    good: Counter[tuple[str, str]] = Counter()
    every: Counter[tuple[str, str]] = Counter()
    apart = 0
    for case in cases:
        if case.id in without:
            apart += 1
            continue
        every[case.version, case.topic] += 1
        good[case.version, case.topic] += case.passed
    rows = [f"{v:10} {t:22} {good[v, t]:4} of {every[v, t]}" for v, t in sorted(every)]
    total = f"{'all':33} {good.total():4} of {every.total()}"
    return "\n".join([*rows, total + (f", {apart} left out" if apart else "")])


def main() -> int:
    parser = argparse.ArgumentParser(description="Run what others wrote for Paddle.")
    parser.add_argument("what", choices=("tests", "scripts"))
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--mirror", type=Path, default=Path("../.mirror"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    is_tests = options.what == "tests"
    folder = options.shared / ("conformance" if is_tests else "scripts")
    runner = folder / ("conformance" if is_tests else "run_scripts")
    mirror = options.mirror / "PaddlePaddle+Paddle" / "repo" if is_tests else options.mirror
    for path, name in ((runner, "SHARED"), (mirror, "MIRROR")):
        if not path.exists():
            print(
                f"{path} is not there: say where it is with `make ... {name}=FOLDER`. It is not "
                "part of this project; docs/compatibility.md says what it is.",
                file=sys.stderr,
            )
            return 2
    with tempfile.TemporaryDirectory() as work:
        out = Path(work, "results.json")
        command = [str(runner), "--python", sys.executable, "--mirror", str(mirror)]
        command += ["--json", str(out), *(["--only", options.only] if options.only else [])]
        code = subprocess.run(command, check=False).returncode
        if not out.exists():
            return code or 2
        results = json.loads(out.read_text())
    cases = of_tests(results) if is_tests else of_scripts(results, folder / "open.tsv")
    print("\n" + table(cases, left_out()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
