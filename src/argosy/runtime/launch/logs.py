"""Log files of a job, and following one of them on the terminal."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from argosy.runtime.launch.process_spec import Job, ProcessSpec

_TAIL_BYTES = 1 << 16


class LogFolder:
    """The logs of a job's processes, made or emptied at once, and what lies beside them. Without a
    folder, processes write to the terminal.
    """

    def __init__(self, job: Job) -> None:
        self._folder = None if job.log_dir is None else Path(job.log_dir)
        self._start_by_name: dict[str, int] = {}
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for process in job.processes:
            path = self._folder / process.log_name
            with open(path, "wb" if job.empties_logs else "ab") as log:
                self._start_by_name[process.log_name] = log.tell()
        for name, text in job.text_by_file.items():
            (self._folder / name).write_text(text)

    def path(self, process: ProcessSpec) -> Path | None:
        return None if self._folder is None else self._folder / process.log_name

    def open(self, process: ProcessSpec) -> AbstractContextManager[IO[bytes] | None]:
        """Open a log to hand it to its process; None is the terminal."""
        path = self.path(process)
        return nullcontext() if path is None else open(path, "ab")

    def last_lines(self, process: ProcessSpec, count: int = 20) -> list[str]:
        """The end of what a process has written in this run."""
        path = self.path(process)
        if path is None:
            return []
        with open(path, "rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._start_by_name[process.log_name], size - _TAIL_BYTES))
            return log.read().decode(errors="replace").splitlines()[-count:]


class Follower:
    """Copies what is added to a file, from now on, to another stream."""

    def __init__(self, path: Path, out: IO[bytes]) -> None:
        self._file = open(path, "rb")  # noqa: SIM115  closed by close()
        self._file.seek(0, os.SEEK_END)
        self._out = out

    def pump(self) -> None:
        """Copy what has come since the last call."""
        data = self._file.read()
        if data:
            self._out.write(data)
            self._out.flush()

    def close(self) -> None:
        """Copy the rest."""
        self.pump()
        self._file.close()
