"""Log files of a job, and following one of them on the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from argosy.runtime.launch.rank_env import Job, public
from argosy.runtime.launch.spec import Generation

_TAIL_BYTES = 1 << 16


def role_log(folder: str | Path, role: str, number: int) -> Path:
    """``serverlog.N`` or ``workerlog.N`` of a parameter-server job."""
    return Path(folder) / f"{role}log.{number}"


def last_lines(path: Path, start: int = 0, count: int = 20) -> list[str]:
    """The end of what was written to a log after byte ``start``."""
    with open(path, "rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(start, size - _TAIL_BYTES))
        return log.read().decode(errors="replace").splitlines()[-count:]


class LogFolder:
    """``workerlog.N`` for each process of this host, appended to unless ``overwrite``, and what
    else a generation of Paddle puts beside them.
    """

    def __init__(self, folder: str | Path, overwrite: bool = False) -> None:
        self.path = Path(folder)
        self.path.mkdir(parents=True, exist_ok=True)
        self._overwrite = overwrite
        self._start_by_rank: dict[int, int] = {}

    def worker(self, local_rank: int) -> Path:
        return self.path / f"workerlog.{local_rank}"

    def prepare(self, nproc: int) -> None:
        """Make or empty the workers' logs."""
        for local_rank in range(nproc):
            with open(self.worker(local_rank), "wb" if self._overwrite else "ab") as log:
                self._start_by_rank[local_rank] = log.tell()

    def open(self, local_rank: int) -> IO[bytes]:
        """Open a worker's log to hand it to the process."""
        return open(self.worker(local_rank), "ab")

    def last_lines(self, local_rank: int, count: int = 20) -> list[str]:
        """The end of what a worker has written in this run."""
        return last_lines(self.worker(local_rank), self._start_by_rank.get(local_rank, 0), count)

    def describe_job(self, job: Job, generation: Generation) -> None:
        """Write down who takes part."""
        if generation is Generation.V2_0:
            (self.path / "endpoints.log").write_text(
                "\n".join(["PADDLE_TRAINER_ENDPOINTS: ", *job.endpoints])
            )
        elif generation is Generation.V2_4:
            lines = [f"rank {rank}: {endpoint}" for rank, endpoint in enumerate(job.endpoints)]
            (self.path / f"{job.job_id}.{job.pod_name}.log").write_text(
                "\n".join([f"PADDLE_MASTER={job.master}", *lines, ""])
            )

    def describe_worker(
        self, local_rank: int, env: Mapping[str, str], generation: Generation
    ) -> None:
        """Write down a worker's environment; only Paddle's own variables, for the rest may hold
        secrets.
        """
        if generation is Generation.V2_4:
            (self.path / f"envlog.{local_rank}").write_text("\n".join([*public(env), ""]))


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
        self._file.close()

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
