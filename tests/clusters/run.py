"""``make clusters``: jobs on real schedulers, under other launchers, and beside the programs that
show what they leave; and a table of what held.

``python tests/clusters/run.py [SUITE...] [--keep FOLDER] [options of pytest]``. What a suite needs
comes from Debian and PyPI into a folder that is removed in the end, or kept with ``--keep`` for the
next run. Each suite runs in namespaces of its own (see ``namespace.py``), so that nothing of it is
left whatever happens. A suite whose needs cannot be had is skipped, with the reason in the table.
The exit code is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from clusters import install, namespace  # noqa: E402

LIMIT_S = 3600.0


@dataclass(frozen=True)
class Suite:
    """Tests that need the same things: packages of Debian, requirements for pip."""

    name: str
    files: tuple[str, ...]
    debian: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()


SUITES = (
    Suite("slurm", ("test_slurm.py", "test_srun.py"), debian=("slurm-wlm", "munge")),
    Suite("mpi", ("test_mpi.py",), debian=("openmpi-bin", "mpich")),
    Suite("torchrun", ("test_torchrun.py",)),
    Suite("torchx", ("test_torchx.py",), pypi=("torchx>=0.7,<1",)),
    Suite(
        "trainers",
        ("test_trainers.py",),
        pypi=("accelerate>=1.10,<2", "lightning-fabric>=2.6,<3", "psutil"),
    ),
    Suite("ray", ("test_ray.py",), pypi=("ray[train]>=2.60,<3", "psutil")),
    Suite("prometheus", ("test_prometheus.py",), debian=("prometheus",)),
    Suite("tensorboard", ("test_tensorboard.py",), pypi=("tensorboard>=2.16", "numpy<2.4")),
    Suite("visualdl", ("test_visualdl.py",), pypi=("visualdl>=2.5", "numpy<2.4", "setuptools<81")),
)


@dataclass(frozen=True)
class Row:
    """What came of a test, or, without one, of a whole suite."""

    suite: str
    test: str
    outcome: str
    seconds: float = 0.0
    why: str = ""


def run(suite: Suite, folder: Path, options: list[str]) -> list[Row]:
    """Install what ``suite`` needs below ``folder``, run it, and tell what came of each test."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        root = install.debian(suite.debian, folder) if suite.debian else None
        python = install.pypi(suite.pypi, folder) if suite.pypi else Path(sys.executable)
        results = folder / "results.xml"
        results.unlink(missing_ok=True)
        pytest = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-o", "timeout=600"]
        tests = [str(TESTS / "clusters" / file) for file in suite.files]
        command = namespace.command(root, [*pytest, f"--junitxml={results}", *tests, *options])
    except install.CannotBeHad as error:
        return [Row(suite.name, "", "skipped", why=str(error))]
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        code = _call(command, temporary)
    rows = list(_read(suite.name, results)) if results.is_file() else []
    if not rows or (code and all(row.outcome != "failed" for row in rows)):
        rows.append(Row(suite.name, "", "failed", why=f"pytest ended with {code}"))
    return rows


def _call(command: list[str], temporary: str) -> int:
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "TMPDIR": temporary,
        "ARGOSY_TEST_CLUSTERS": "1",
    }
    try:
        return subprocess.call(command, env=environment, cwd=TESTS.parent, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return -1


def _read(suite: str, results: Path) -> Iterator[Row]:
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        title = case.get("name", "").removeprefix("test_").replace("_", " ")
        found = [case.find(kind) for kind in ("failure", "error", "skipped")]
        bad = next((each for each in found if each is not None), None)
        outcome = "passed" if bad is None else "skipped" if bad.tag == "skipped" else "failed"
        why = "" if bad is None else (bad.get("message") or "").partition("\n")[0]
        yield Row(suite, title, outcome, float(case.get("time", 0)), why)


def show(rows: list[Row], seconds: float) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("test", "outcome", "s", "why", title="Clusters", title_justify="left")
    suite = ""
    for row in rows:
        if row.suite != suite:
            suite = row.suite
            table.add_section()
            table.add_row(f"[bold]{suite}[/bold]")
        style = "bold red" if row.outcome == "failed" else None
        took = f"{row.seconds:.0f}" if row.test else ""
        table.add_row(f"  {escape(row.test)}", row.outcome, took, escape(row.why), style=style)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    counts = {
        kind: sum(row.outcome == kind for row in rows) for kind in ("passed", "skipped", "failed")
    }
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    console.print(f"{said or 'nothing to do'} ({seconds:.0f} s)", highlight=False)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run jobs on clusters of this machine.")
    names = [suite.name for suite in SUITES]
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"some of {', '.join(names)}")
    parser.add_argument("--keep", metavar="FOLDER", help="keep what was installed there")
    options, others = parser.parse_known_args(argv)
    unknown = sorted(set(options.suites) - set(names))
    if unknown:
        parser.error(f"there is no suite {', '.join(unknown)}")
    chosen = [suite for suite in SUITES if suite.name in (options.suites or names)]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="argosy-clusters-") as temporary:
        folder = Path(options.keep or temporary).resolve()
        rows = [row for suite in chosen for row in run(suite, folder / suite.name, others)]
    show(rows, time.monotonic() - begin)
    return int(any(row.outcome == "failed" for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
