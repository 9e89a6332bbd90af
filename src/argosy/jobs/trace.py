"""``argosy trace [JOB] --steps 10``: what every process of a running job does in its next steps,
as one file for Perfetto (ui.perfetto.dev) and chrome://tracing.

``argosy trace --join FILE... --output OUT`` makes one file of several: of hosts that have no folder
in common, or of processes that no launcher has started.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ArgosyError, UsageError
from argosy.runtime.observe import chrome, jobs, parts
from argosy.runtime.observe.label import is_server
from argosy.runtime.observe.ring import Request
from argosy.runtime.observe.tracing import part_name, parts_folder

_LOOK_S = 0.05
_STOP_S = 3.0  # for those that are told to stop, to write what they have
_MOST_STEPS = 1_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.join:
            traces = [chrome.read(Path(name)) for name in arguments.join]
            chrome.write(arguments.output, chrome.join(traces, _still_missing(traces)))
            print(arguments.output)
        else:
            print(parts.said(*trace(arguments.job, arguments.steps, arguments.limit)))
    except (ArgosyError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _still_missing(traces: Sequence[chrome.Trace]) -> list[str]:
    told = [trace["otherData"] for trace in traces]
    found = {process["label"] for each in told for process in each["processes"]}
    return sorted({label for each in told for label in each["missing"]} - found)


def trace(name: str, num_steps: int, limit_s: float) -> tuple[Path, list[str]]:
    """Trace the next steps of a job; returns the file, and the processes that are not in it.

    Servers have no steps: they are traced until the others have done theirs.
    """
    if not 1 <= num_steps <= _MOST_STEPS:
        raise UsageError(f"--steps must be between 1 and {_MOST_STEPS}, but is {num_steps}")
    found = jobs.find(name)
    if not found.pid:
        raise UsageError(f"the job of {found.folder} has ended")
    with _alone(found.folder):
        number = _next_number(found.folder)
        folder = parts_folder(found.folder, number)
        folder.mkdir()
        try:
            asked = _Asked(found, folder)
            found.ask(Request(number, num_steps))
            with contextlib.suppress(KeyboardInterrupt):
                asked.wait(limit_s, with_servers=False)
            found.ask(Request(number, 0))
            asked.wait(_STOP_S, with_servers=True)
            target = found.folder / f"trace-{number}.json"
            missing = parts.join(folder, found.labels, target)
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
    if not target.exists():
        raise UsageError(f"no process of {found.folder} has ended a step within {limit_s:g} s")
    return target, missing


class _Asked:
    """The processes of a job that were asked, and the files that they will leave in ``folder``."""

    def __init__(self, job: jobs.FoundJob, folder: Path) -> None:
        pids = [reader.pid for reader in job.readers()]
        self._path_by_process = {
            (label, pid): folder / part_name(label, pid)
            for label, pid in zip(job.labels, pids, strict=True)
            if pid
        }

    def wait(self, limit_s: float, *, with_servers: bool) -> None:
        """Until all files are there, but for those of processes that have gone."""
        deadline = Deadline.after(limit_s)
        while not deadline.expired:
            has_ranks = any(not is_server(label) for label, _ in self._path_by_process)
            if not any(
                jobs.started_at(pid) is not None and not path.exists()
                for (label, pid), path in self._path_by_process.items()
                if with_servers or not (has_ranks and is_server(label))
            ):
                return
            time.sleep(_LOOK_S)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One request at a time."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another `argosy trace` is at work on {folder}") from None
        yield
    finally:
        os.close(fd)


def _next_number(folder: Path) -> int:
    names = (re.match(r"trace-(\d+)\.", path.name) for path in folder.iterdir())
    return 1 + max((int(found[1]) for found in names if found), default=0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="argosy trace", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("job", nargs="?", default="log", help="log folder of the job (log)")
    parser.add_argument("--steps", type=int, default=10, help="how many steps (10)")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds after which what there is counts (60)"
    )
    parser.add_argument("--join", nargs="+", metavar="FILE", help="traces to join instead")
    parser.add_argument("--output", default="trace.json", help="their file (trace.json)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
