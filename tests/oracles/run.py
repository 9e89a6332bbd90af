"""``make oracles``: inference models exchanged with real Paddle, both ways.

    python tests/oracles/run.py FOLDER [--only NET,..] [--versions 2.6.2,..] [--direction in|out]

FOLDER has venvs with real Paddle (1.8.5, 2.6.2, 3.3.1), each in a folder of its own; they are no
part of this project. Each net is saved by one side, run by the other, and what comes out is
compared to 1e-5. Prints a row for each net and way, then how many agree; ``--`` stands before what
real Paddle cannot save, or not run from its own files either, and is not counted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nets

HERE = Path(__file__).resolve().parent
SECONDS = 900  # for one net on one side
Results = dict[str, dict[str, str]]  # problems by net and way

# What real Paddle cannot do with its own files either, by version and way.
_NO_PARAMETERS = ("shapes", "branches")
_RANK_TABLES = ("translation", "attended", "cases")  # the last ends the process
BEYOND_PADDLE = {
    ("2.6.2", "predictor"): (*_NO_PARAMETERS, *_RANK_TABLES),
    ("2.6.2", "load"): _RANK_TABLES,
    # 1.8.5 leaves sequences out where it turns rows around, later versions do not
    ("2.6.2", "program"): ("roles",),
    # 3 has neither tables of ranks nor IfElse's operators any more
    ("3.3.1", "program"): ("translation", "attended", "fork"),
    ("3.3.1", "predictor"): (*_NO_PARAMETERS, *_RANK_TABLES, "fork"),
    ("3.3.1", "load"): _RANK_TABLES,
}
# What is saved in argosy's own format, with a warning: Paddle has no operators for its parts.
OWN_FORMAT = ("decoding",)


def side(python: Path, what: str, folder: Path, names: list[str]) -> Results:
    """What one side says of nets; where its process ends at one, of the others in a new one."""
    found: Results = {}
    waiting = list(names)
    while waiting:
        command = [str(python), str(HERE / "side.py"), what, str(folder), *waiting]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS * len(waiting), cwd=folder
            )
            out, end = done.stdout, f"the process ended with {done.returncode}"
        except subprocess.TimeoutExpired as error:
            out, end = (error.stdout or b"").decode(), "it took too long"
        begun = ""
        for line in out.splitlines():
            if line.startswith('{"net"'):
                told = json.loads(line)
                begun = told["net"]
                if told["results"] is not None:
                    found[begun], begun = told["results"], ""
        if begun:
            found[begun] = {what: end}
        rest = [name for name in waiting if name not in found]
        if len(rest) == len(waiting):
            return {**found, **{name: {what: end} for name in rest}}
        waiting = rest
    return found


def exchange(
    giver: Path, taker: Path, names: list[str], at_once: int
) -> Iterator[tuple[str, str, str]]:
    """Net, way and problem of each model that one side saves and the other runs."""
    for start in range(0, len(names), at_once):
        group = names[start : start + at_once]
        with tempfile.TemporaryDirectory(prefix="oracles_") as place:
            folder = Path(place)
            saved = side(giver, "save", folder, group)
            good = [name for name in group if not any(saved[name].values())]
            for name in group:
                yield from ((name, way, problem) for way, problem in saved[name].items() if problem)
            for name, results in side(taker, "load", folder, good).items():
                yield from ((name, way, problem) for way, problem in results.items())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()


def versions_in(folder: Path) -> dict[str, Path]:
    """The interpreters of the venvs in a folder, by the version of Paddle that they have."""
    found = {}
    for python in sorted(folder.glob("*/bin/python")):
        told = subprocess.run(
            [str(python), str(HERE / "side.py"), "version", "-"], capture_output=True, text=True
        )
        if told.returncode == 0 and told.stdout.strip() not in ("", "argosy"):
            found[told.stdout.split()[-1]] = python
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--versions", default="")
    parser.add_argument("--direction", choices=("in", "out", "both"), default="both")
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    good: Counter[str] = Counter()
    every: Counter[str] = Counter()
    here = Path(sys.executable)
    for version, python in versions_in(options.folder).items():
        if options.versions and version not in options.versions.split(","):
            continue
        old = version.startswith("1.")
        ours = [*nets.FLUID, *([] if old else nets.LAYERS)]
        theirs = nets.FLUID if old else nets.LAYERS
        exchanges = {
            "in": (f"{version} -> argosy", python, here, theirs),
            "out": (f"argosy -> {version}", here, python, ours),
        }
        for direction, (label, giver, taker, names) in exchanges.items():
            if options.direction not in (direction, "both"):
                continue
            chosen = [name for name in wanted if name in names] if wanted else names
            for net, way, problem in exchange(giver, taker, chosen, options.at_once):
                column = f"{label}, {way}"
                is_left_out = way == "save" and (direction == "in" or net in OWN_FORMAT)
                if problem and (is_left_out or net in BEYOND_PADDLE.get((version, way), ())):
                    print(f"{column:34} {net:24} --  {problem}", flush=True)
                    continue
                every[column] += 1
                good[column] += not problem
                mark = f"NO  {problem}" if problem else "ok"
                print(f"{column:34} {net:24} {mark}", flush=True)
    print()
    for column, count in every.items():
        print(f"{column:34} {good[column]} of {count}")
    print(f"{'all':34} {sum(good.values())} of {sum(every.values())}")
    return 0 if good == every else 1


if __name__ == "__main__":
    sys.exit(main())
