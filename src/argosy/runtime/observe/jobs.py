"""Finding a job from outside: its run folder, its launcher, the rings of its processes.

Only a process of the same user, or root, can open them.
"""

from __future__ import annotations

import mmap
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from argosy.foundation.errors import CheckpointError, UsageError
from argosy.runtime.observe.accounts import SLOT_BYTES, readers_of
from argosy.runtime.observe.others import pace_of
from argosy.runtime.observe.ring import Request, RingReader, ask
from argosy.runtime.observe.run_folder import read_facts, read_now, runs_in
from argosy.runtime.observe.summary import Pace
from argosy.runtime.observe.tables import TableState

T = TypeVar("T")


def started_at(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was: with the pid it is no other's;
    None if there is no such process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


@dataclass(frozen=True)
class FoundJob:
    """A run, and the launcher that runs it; ``pid`` is 0 when it has ended."""

    folder: Path
    facts: dict[str, Any]
    pid: int

    @property
    def labels(self) -> list[str]:
        """The processes that run now."""
        return [str(label) for label in self.facts.get("running", [])]

    def readers(self) -> list[RingReader]:
        """The rings of those processes."""
        return readers_of(self._memory(mmap.ACCESS_READ), len(self.labels))

    def ask(self, request: Request) -> None:
        """Have those processes hear a request."""
        memory = self._memory(mmap.ACCESS_WRITE)
        for slot in range(len(self.labels)):
            ask(memory[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES], request)

    def _memory(self, access: int) -> memoryview:
        path = f"/proc/{self.pid}/fd/{int(self.facts['account_fd'])}"
        mode = os.O_RDONLY if access == mmap.ACCESS_READ else os.O_RDWR
        try:
            fd = os.open(path, mode | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(
                f"the job of {self.folder} cannot be looked at: {error.strerror}"
            ) from error
        try:
            size = len(self.labels) * SLOT_BYTES
            if os.fstat(fd).st_size < size:
                raise UsageError(f"{self.folder}: its launcher has another job's memory")
            return memoryview(mmap.mmap(fd, size, access=access))
        finally:
            os.close(fd)


class Elsewhere:
    """What the launcher of a job knows that is not in the rings of its host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def paces(self) -> list[Pace]:
        """The processes of other hosts."""
        now_ns = time.perf_counter_ns()
        return self._read("processes", lambda told: pace_of(told, now_ns))

    def tables(self) -> list[TableState]:
        """The tables of parameter servers."""
        return self._read("tables", TableState.from_json)

    def _read(self, name: str, make: Callable[[Any], T]) -> list[T]:
        try:
            return [make(told) for told in read_now(self._folder).get(name, ())]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CheckpointError(f"now.json in {self._folder} is damaged") from None


def find(name: str) -> FoundJob:
    """The job that ``name`` is: a run's folder, or a log folder, whose newest run counts."""
    folder = Path(name)
    if not folder.is_dir():
        raise UsageError(
            f"{name!r} is not a folder: name the log folder of a job (--log_dir) or one of the "
            "folders below its runs/"
        )
    runs = [folder] if (folder / "run.json").is_file() else runs_in(folder)
    if not runs:
        raise UsageError(f"{name!r} has no runs: no job was started with this log folder")
    facts = read_facts(runs[-1])
    return FoundJob(runs[-1], facts, launcher_of(facts))


def launcher_of(facts: Mapping[str, Any]) -> int:
    """The pid of the launcher that still runs a job, 0 if it has ended."""
    launcher = facts.get("launcher")
    if not isinstance(launcher, dict) or facts.get("account_fd", -1) == -1:
        return 0
    pid = int(launcher.get("pid", 0))
    return pid if started_at(pid) == launcher.get("started") else 0


def is_over(facts: Mapping[str, Any]) -> bool:
    """Whether a job has ended, or, if it was one of this host, its launcher has."""
    is_here = facts.get("host") == platform.node()
    return facts.get("account_fd") == -1 or (is_here and not launcher_of(facts))
