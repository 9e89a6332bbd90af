"""``make bench``: runs the benchmarks one after the other and writes docs/benchmarks.md.

    python benchmarks/run.py [NAME...] [--paddle PATH_TO_PYTHON_WITH_PADDLE_2.6]

A name is that of a file, ``bench_NAME.py``; without one all run. What they found is kept in
``benchmarks/figures.json``, so that the page keeps the figures of those that did not run this time,
with their date. Nothing else should run on the machine meanwhile. The exit code is 1 if a bar was
missed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import page
from figures import KEPT_IN

HERE = Path(__file__).resolve().parent
KEPT = HERE / "figures.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
# in the order of the page
NAMES = (
    "collectives", "torch_backend", "data_parallel", "torch_modules", "hosts", "losses",
    "fleet", "ps", "account", "startup", "eager", "static", "jit", "inference",
)  # fmt: skip
TAKE_PADDLE = frozenset({"ps", "startup", "eager", "static"})


def machine() -> str:
    """What the figures depend on: processor, cores, versions."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    cores = len(os.sched_getaffinity(0))
    version = torch.__version__.split("+")[0]
    return f"{cores} cores of {model}, torch {version}, Python {platform.python_version()}"


def run(name: str, paddle: str | None) -> dict[str, Any]:
    """Run one benchmark; returns its section of the page."""
    options = ["--paddle", paddle] if paddle and name in TAKE_PADDLE else []
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "figures"
        kept.touch()
        code = subprocess.call(
            [sys.executable, str(HERE / f"bench_{name}.py"), *options],
            env={**os.environ, KEPT_IN: str(kept)},
        )
        found = [json.loads(line) for line in kept.read_text().splitlines()]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "paddle": bool(options),
        "code": code,
        "figures": found,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--paddle", help="interpreter that has real Paddle 2.6 installed")
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    sections = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    failed = []
    for name in args.names or NAMES:
        print(f"\n== {name}", flush=True)
        section = run(name, args.paddle)
        if section["figures"]:
            sections[name] = section
        if section["code"]:
            failed.append(name)
        # after each, so that what was measured is there however the run ends
        KEPT.write_text(json.dumps(sections, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page.render(sections, NAMES))
    print(f"\n{PAGE.name} is written" + (f"; missed or failed: {', '.join(failed)}" * bool(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
