"""The workers of one host, in one process group that can be ended as a whole.

The group is led by a tiny process of our own. As long as we have not reaped it, the kernel gives
the group's number to nobody else, so signalling the group reaches our workers and what they
started, never a stranger. The leader also reads a pipe whose other end only this process has: when
this process is gone, by SIGKILL too, the pipe ends and the leader kills the group.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from argosy.runtime.launch.process import Worker

_LOOK_S = 0.05
_LEADER = """
import os, shutil, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while os.read(0, 1):
    pass
for folder in sys.argv[1:]:
    shutil.rmtree(folder, ignore_errors=True)
os.killpg(0, signal.SIGKILL)
"""


class _ProcessGroup:
    def __init__(self, folder: str | None) -> None:
        self._leader = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LEADER, *([folder] if folder else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.id = self._leader.pid

    def signal(self, number: int) -> None:
        if self._leader.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.id, number)

    def close(self) -> None:
        """Kill whatever is left in the group."""
        self.signal(signal.SIGKILL)
        self._leader.communicate()


class Crew:
    """Starts workers, tells which one failed first, ends them all. ``folder`` is theirs: if this
    process is killed, it is removed with them.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._group = _ProcessGroup(folder)
        self._epoll = select.epoll()
        self._running: dict[int, Worker] = {}  # by fd
        self.workers: list[Worker] = []

    def start(
        self,
        rank: int,
        command: Sequence[str],
        env: Mapping[str, str],
        log: IO[bytes] | None,
        inherits: Sequence[int] = (),
    ) -> Worker:
        """Start a worker; ``inherits`` are files of this process that it keeps."""
        worker = Worker(rank, command, env, log, self._group.id, inherits)
        self.workers.append(worker)
        self._running[worker.fd] = worker
        self._epoll.register(worker.fd, select.EPOLLIN)
        return worker

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    @property
    def running(self) -> list[Worker]:
        """Those that have not ended, as far as ``wait`` has seen."""
        return list(self._running.values())

    def wait(self, timeout_s: float) -> Worker | None:
        """Wait for a worker to end; return the first that ended badly, None if the time is over or
        all is well so far.
        """
        # the kernel reports ends in the order in which they happened
        for fd, _ in self._epoll.poll(timeout_s):
            worker = self._running.pop(fd)
            self._epoll.unregister(fd)
            if worker.poll() != 0:
                return worker
        return None

    def end(self, grace_s: float, is_hurried: Callable[[], bool] = lambda: False) -> list[Worker]:
        """End the workers that run: SIGTERM, then SIGKILL when the grace period is over or somebody
        is in a hurry.

        Returns those that had to be killed.
        """
        if self._running:
            self._group.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while self._running and time.monotonic() < deadline and not is_hurried():
            self.wait(_LOOK_S)
        stubborn = [worker for worker in self._running.values() if worker.poll() is None]
        self._group.signal(signal.SIGKILL)
        return stubborn

    def close(self) -> None:
        """Kill what is left, and what ended workers have left behind, and reap it."""
        self._group.close()
        for worker in self.workers:
            worker.close()
        self._running.clear()
        self._epoll.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
