"""One process that we started: its command, its log, its end in words."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

_LOOK_S = 0.02
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even by SIGKILL. Runs between fork and exec."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Worker:
    """A child in a process group of its own, so that what it started can be ended with it."""

    def __init__(
        self, rank: int, command: Sequence[str], env: Mapping[str, str], log: IO[bytes] | None, pass_fds: Sequence[int] = ()
    ) -> None:
        self.rank = rank
        parent = os.getpid()
        self._process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT if log is not None else None,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
            preexec_fn=lambda: die_with_parent(parent),
        )
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs.

        What an ended process left in its group is killed before the process is reaped: until then its pid, and with it the group's, cannot
        belong to anybody else.
        """
        if self._process.returncode is None:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
            _ignore_gone(os.killpg, self.pid, signal.SIGKILL)
            self._process.wait()
        return self._process.returncode

    def signal(self, number: int) -> None:
        """Signal the process and what it started, if it still runs."""
        if self.poll() is None:
            _ignore_gone(os.killpg, self.pid, number)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end; False if it did not come in time."""
        deadline = time.monotonic() + timeout_s
        while self.poll() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True


def _ignore_gone(call: Any, *args: Any) -> None:
    try:
        call(*args)
    except ProcessLookupError:
        return


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    return f"exited with code {code}"
