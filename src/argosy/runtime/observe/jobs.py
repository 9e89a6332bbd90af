"""Finding a job from outside: its run folder, its launcher, the rings of its processes.

Only a process of the same user, or root, can open them.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.runtime.observe.accounts import SLOT_BYTES, readers_of
from argosy.runtime.observe.ring import Request, RingReader, ask
from argosy.runtime.observe.run_folder import read_facts, runs_in


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
    launcher = facts.get("launcher")
    pid = 0
    if isinstance(launcher, dict) and facts.get("account_fd", -1) != -1:
        pid = int(launcher.get("pid", 0))
        if started_at(pid) != launcher.get("started"):
            pid = 0
    return FoundJob(runs[-1], facts, pid)
