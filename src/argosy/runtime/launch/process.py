"""One process that we started: its command, its log, its end in words."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from argosy.foundation.errors import ConfigError

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the thread that started it ends, even by SIGKILL.
    Runs between fork and exec.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Worker:
    """A child in the process group ``group``. ``fd`` becomes readable when it ends."""

    def __init__(
        self,
        rank: int,
        command: Sequence[str],
        env: Mapping[str, str],
        log: IO[bytes] | None,
        group: int,
        inherits: Sequence[int] = (),
    ) -> None:
        self.rank = rank
        parent = os.getpid()
        try:
            self._process = subprocess.Popen(
                command,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT if log is not None else None,
                process_group=group,
                preexec_fn=lambda: die_with_parent(parent),
                pass_fds=inherits,
            )
        except OSError as error:
            raise ConfigError(f"launch: cannot start {command[0]!r}: {error.strerror}") from error
        self.pid = self._process.pid
        self.fd = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def close(self) -> None:
        """Let go of the process; one that has left its group, and so still runs, is killed."""
        if self.fd >= 0 and self._process.poll() is None:
            signal.pidfd_send_signal(self.fd, signal.SIGKILL)
        self._process.wait()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"
    if -code == signal.SIGKILL:
        return f"was killed by {name} (the kernel does that when memory runs out)"
    return f"was killed by {name} ({(signal.strsignal(-code) or name).lower()})"


def shell_code(code: int) -> int:
    """The exit code as a shell reports it: a signal n is 128 + n."""
    return 128 - code if code < 0 else code
