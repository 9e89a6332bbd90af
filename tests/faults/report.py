"""``make faults``: every attack, whether it held, how soon its culprit was named, and what it left
behind.

``python tests/faults/report.py [--seed N] [--json FILE] [options of pytest]`` runs the tests that
are marked ``attack`` wherever they are, the thorough ones included, and all of this folder. The
exit code is 1 if one did not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from support import leftovers  # noqa: E402

# folders of tests with several processes, which mostly wait for each other
SEVERAL = ("faults", "multiprocess")
APART = ("clusters", "packaging")  # have targets of their own
LIMIT_S = 1800.0


@dataclass
class Attack:
    """One test: what was tried and what came of it."""

    test: str
    file: str
    title: str
    outcome: str = "not run"
    named_s: float | None = None
    left: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def has_held(self) -> bool:
        return self.outcome == "passed" and not self.left


class Collector:
    """A plugin of pytest that keeps the attacks and notes how each ends."""

    def __init__(self) -> None:
        self.attacks: dict[str, Attack] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        chosen, others = [], []
        for item in items:
            marker = item.get_closest_marker("attack")
            is_here = item.path.is_relative_to(TESTS / "faults")
            (chosen if marker or is_here else others).append(item)
            if marker or is_here:
                title = (
                    marker.args[0]
                    if marker
                    else item.name.partition("[")[0].removeprefix("test_").replace("_", " ")
                )
                self.attacks[item.nodeid] = Attack(
                    item.nodeid, str(item.path.relative_to(TESTS)), title
                )
        items[:] = chosen
        config.hook.pytest_deselected(items=others)

    @pytest.fixture(autouse=True)
    def _nothing_left(
        self, request: pytest.FixtureRequest, record_property: pytest.RecordProperty
    ) -> Iterator[None]:
        """In this folder its own guard does the same."""
        if request.node.path.is_relative_to(TESTS / "faults"):
            yield
            return
        with leftovers.guard(record_property):
            yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        attack = self.attacks.get(report.nodeid)
        if attack is None:
            return
        attack.seconds += report.duration
        properties = dict(report.user_properties)
        attack.named_s = properties.get("named_s", attack.named_s)  # type: ignore[assignment]
        attack.left = properties.get("left", attack.left)  # type: ignore[assignment]
        if report.when == "call" or not report.passed:
            attack.outcome = (
                report.outcome if attack.outcome in ("not run", "passed") else attack.outcome
            )


@dataclass
class Row:
    """Attacks of one title in one file."""

    file: str
    title: str
    attacks: list[Attack] = field(default_factory=list)

    @property
    def held(self) -> str:
        lost = [attack for attack in self.attacks if not attack.has_held]
        skipped = sum(attack.outcome == "skipped" for attack in self.attacks)
        if skipped == len(self.attacks):
            return "not tried"
        return (
            "yes" if len(lost) == skipped else f"NO ({len(lost) - skipped} of {len(self.attacks)})"
        )

    @property
    def named(self) -> str:
        found = [attack.named_s for attack in self.attacks if attack.named_s is not None]
        return f"{max(found):.2f}" if found else ""

    @property
    def left(self) -> str:
        return ", ".join(text for attack in self.attacks for text in attack.left) or "nothing"


def rows(attacks: list[Attack]) -> list[Row]:
    """In the order of the files and, there, of the tests."""
    found: dict[tuple[str, str], Row] = {}
    for attack in attacks:
        found.setdefault(
            (attack.file, attack.title), Row(attack.file, attack.title)
        ).attacks.append(attack)
    return sorted(found.values(), key=lambda row: row.file)


def total(attacks: list[Attack]) -> str:
    tried = [attack for attack in attacks if attack.outcome != "skipped"]
    held = sum(attack.has_held for attack in tried)
    named = [attack.named_s for attack in tried if attack.named_s is not None]
    left = sum(len(attack.left) for attack in tried)
    slowest = f"slowest named after {max(named):.2f} s" if named else "none had to be named in time"
    return (
        f"{len(tried)} attacks tried, {held} held, {slowest}, "
        f"{f'{left} things' if left else 'nothing'} left behind"
    )


def show(attacks: list[Attack], seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "attack",
        "tried",
        "held",
        "named after s",
        "left behind",
        title="Faults",
        title_justify="left",
    )
    file = ""
    for row in rows(attacks):
        if row.file != file:
            file = row.file
            table.add_section()
            table.add_row(f"[bold]{file}[/bold]")
        style = None if row.held in ("yes", "not tried") else "bold red"
        table.add_row(
            f"  {row.title}", str(len(row.attacks)), row.held, row.named, row.left, style=style
        )
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    console.print(f"{total(attacks)} ({seconds:.0f} s)", highlight=False)


def run(paths: list[str], options: list[str]) -> tuple[int, list[Attack]]:
    """Try what is in ``paths``, in this process; pytest's exit code, and what came of each
    attack.
    """
    leftovers.mark_children()
    collector = Collector()
    code = pytest.main(["-p", "no:cacheprovider", *paths, *options], plugins=[collector])
    return int(code), list(collector.attacks.values())


def run_side_by_side(seed: int, options: list[str]) -> tuple[int, list[Attack]]:
    """Try everything in two processes: tests of several processes, which are shown as they go, and
    all others.
    """
    others = [
        p.name
        for p in sorted(TESTS.iterdir())
        if p.name not in (*SEVERAL, *APART) and any(p.glob("**/test_*.py"))
    ]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        shown = stack.enter_context((folder / "shown").open("wb"))
        halves = []
        for number, (folders, output) in enumerate(((SEVERAL, None), (others, shown))):
            command = [
                sys.executable,
                __file__,
                "--half",
                "--seed",
                str(seed),
                "--json",
                str(folder / f"{number}.json"),
            ]
            command += [*(str(TESTS / each) for each in folders), *options]
            halves.append(subprocess.Popen(command, stdout=output, stderr=output))
            stack.callback(halves[-1].wait)
            stack.callback(halves[-1].kill)
        codes = [half.wait(LIMIT_S) for half in halves]
        if codes[1]:
            print((folder / "shown").read_text(errors="replace"), flush=True)
        found = [json.loads(path.read_text())["attacks"] for path in sorted(folder.glob("*.json"))]
    return max(codes), [Attack(**fields) for attacks in found for fields in attacks]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the attacks and print what came of them.")
    parser.add_argument("--seed", type=int, default=0, help="of tests that draw at random")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument(
        "--half", action="store_true", help="leave the table to the process that has both halves"
    )
    options, others = parser.parse_known_args(argv)
    os.environ["ARGOSY_FAULTS_SEED"] = str(options.seed)
    paths = [
        text
        for text in others
        if not text.startswith("-") and Path(text.partition("::")[0]).exists()
    ]
    rest = [text for text in others if text not in paths]
    begin = time.monotonic()
    code, attacks = run(paths, rest) if paths else run_side_by_side(options.seed, rest)
    seconds = time.monotonic() - begin
    if not options.half:
        show(attacks, seconds)
    if options.json:
        content = {"seed": options.seed, "seconds": seconds, "total": total(attacks)}
        Path(options.json).write_text(
            json.dumps({**content, "attacks": [asdict(a) for a in attacks]}, indent=1)
        )
    return (
        1
        if code or not all(attack.has_held or attack.outcome == "skipped" for attack in attacks)
        else 0
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
