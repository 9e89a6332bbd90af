"""Log files of a job, and following one of them on the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO


class LogFolder:
    """``workerlog.N`` for each process; appended to unless ``overwrite``."""

    def __init__(self, folder: str | Path, overwrite: bool) -> None:
        self.path = Path(folder)
        self.path.mkdir(parents=True, exist_ok=True)
        self._overwrite = overwrite

    def worker(self, local_rank: int) -> Path:
        return self.path / f"workerlog.{local_rank}"

    def open(self, local_rank: int) -> IO[bytes]:
        """Open a worker's log to hand it to the process."""
        return open(self.worker(local_rank), "wb" if self._overwrite else "ab")  # noqa: SIM115  the caller closes it


class Follower:
    """Copies what is added to a file, from now on, to another stream. The file is made if need be."""

    def __init__(self, path: Path, out: IO[bytes]) -> None:
        path.touch()
        self._file = open(path, "rb")  # noqa: SIM115  closed by close()
        self._file.seek(0, os.SEEK_END)
        self._out = out

    def pump(self) -> None:
        """Copy what has come since the last call."""
        if self._file.tell() > os.fstat(self._file.fileno()).st_size:
            self._file.seek(0)  # the file was truncated
        data = self._file.read()
        if data:
            self._out.write(data)
            self._out.flush()

    def close(self) -> None:
        self.pump()
        self._file.close()


def last_lines(path: Path, count: int = 20, limit_bytes: int = 1 << 16) -> list[str]:
    """The end of a text file."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit_bytes))
        return file.read().decode(errors="replace").splitlines()[-count:]
