"""``argosy dump [JOB]``: what every process of a running job is doing, with the stacks of all its
threads.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ArgosyError, UsageError
from argosy.runtime.observe import jobs
from argosy.runtime.observe.card import Collective

_ANSWER_S = 5.0
_LOOK_S = 0.02


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    arguments = _parser().parse_args(argv)
    try:
        path = dump(arguments.job)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    card = json.loads(path.read_bytes())
    for member in card["members"]:
        waits = member["waits_at"] and f", waits for {member['waits_s']:.1f} s in "
        steps = f"{member['num_steps']} steps"
        print(f"{member['label']} (pid {member['pid']}) {member['state']}, {steps}{waits}", end="")
        print(member["waits_at"])
        for call in member["collectives"]:
            print(f"  {Collective(**call).text()}")
        print(member["stacks"] or "  its stacks are not known")
    for line in card["who_waits"]:
        print(line)
    if card["plan"]:
        print(card["plan"])
    print(path)
    return 0


def dump(name: str) -> Path:
    """Have the launcher of a job collect a card; returns the file in which it is."""
    found = jobs.find(name)
    if not found.pid:
        raise UsageError(f"the job of {found.folder} has ended; its cards are there")
    before = set(found.folder.glob("card-*.json"))
    os.kill(found.pid, signal.SIGQUIT)
    deadline = Deadline.after(_ANSWER_S)
    while not deadline.expired:
        fresh = set(found.folder.glob("card-*.json")) - before
        if fresh:
            return max(fresh, key=lambda path: path.stat().st_mtime_ns)
        time.sleep(_LOOK_S)
    raise UsageError(f"the launcher (pid {found.pid}) has not answered within {_ANSWER_S:g} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="argosy dump", description=__doc__)
    parser.add_argument("job", nargs="?", default="log", help="log folder of the job (log)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
