"""The child processes of one launcher, in one process group that can be ended as a whole.

The group is led by a tiny process of our own. As long as we have not reaped it, the kernel gives
the group's number to nobody else, so signalling the group reaches our children and what they
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

from argosy.foundation.notices import VARIABLE, Mailbox, Notice
from argosy.runtime.launch.process import ChildProcess
from argosy.runtime.launch.process_spec import ProcessSpec

_LOOK_S = 0.05
_LEADER = """
import os, shutil, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
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


class ProcessPool:
    """Starts child processes, tells which one failed first, ends them all. ``folder`` is theirs: if
    this process is killed, it is removed with them.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._group = _ProcessGroup(folder)
        self._mailbox = Mailbox()
        self._epoll = select.epoll()
        self._running: dict[int, ChildProcess] = {}  # by fd
        self._children: list[ChildProcess] = []

    @property
    def group_id(self) -> int:
        return self._group.id

    def start(
        self,
        spec: ProcessSpec,
        log: IO[bytes] | None = None,
        inherits: Sequence[int] = (),
        variables: Mapping[str, str] | None = None,
    ) -> ChildProcess:
        """Start a process; without a log it writes to the terminal. It ``inherits`` descriptors
        beside those of its spec, which ``variables`` name.
        """
        box = self._mailbox
        given = {**(variables or {}), VARIABLE: box.address}
        child = ChildProcess(spec, log, self._group.id, (*inherits, box.fd), given)
        self._children.append(child)
        self._running[child.fd] = child
        self._epoll.register(child.fd, select.EPOLLIN)
        return child

    @property
    def running(self) -> list[ChildProcess]:
        """Those that have not ended, as far as ``wait`` has seen."""
        return list(self._running.values())

    def ends(self) -> dict[str, int]:
        """The exit codes of those that have ended and were not started again, by label."""
        last = {child.spec.member.label: child.poll() for child in self._children}
        return {label: code for label, code in last.items() if code is not None}

    def wait(self, timeout_s: float) -> ChildProcess | None:
        """Wait for a process to end; return the first that ended badly, None if the time is over or
        all is well so far.
        """
        # the kernel reports ends in the order in which they happened
        for fd, _ in self._epoll.poll(timeout_s):
            child = self._running.pop(fd)
            self._epoll.unregister(fd)
            if child.poll() != 0:
                return child
        return None

    def notices(self) -> list[Notice]:
        """What processes have told since the last call."""
        return self._mailbox.read()

    def end(
        self, grace_s: float, is_hurried: Callable[[], bool] = lambda: False
    ) -> list[ChildProcess]:
        """End the processes that run: SIGTERM, then SIGKILL when the grace period is over or
        somebody is in a hurry.

        Returns those that had to be killed.
        """
        if self._running:
            self._group.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while self._running and time.monotonic() < deadline and not is_hurried():
            self.wait(_LOOK_S)
        stubborn = [child for child in self._running.values() if child.poll() is None]
        self._group.signal(signal.SIGKILL)
        return stubborn

    def close(self) -> None:
        """Kill what is left, and what ended processes have left behind, and reap it."""
        self._group.close()
        for child in self._children:
            child.close()
        self._running.clear()
        self._epoll.close()
        self._mailbox.close()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
