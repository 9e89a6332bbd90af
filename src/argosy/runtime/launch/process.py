"""One process that we started."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.process_spec import ProcessSpec

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the thread that started it ends, even by SIGKILL.
    Runs between fork and exec.

    SIGUSR1, which schedulers may send to everybody, is ignored until somebody wants it.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class ChildProcess:
    """A child in the process group ``group``, which writes to ``log`` or to the terminal. It
    ``inherits`` the descriptors that ``variables`` name. ``fd`` becomes readable when it ends.
    """

    def __init__(
        self,
        spec: ProcessSpec,
        log: IO[bytes] | None,
        group: int,
        inherits: Sequence[int],
        variables: Mapping[str, str],
    ) -> None:
        self.spec = spec
        parent = os.getpid()
        try:
            self._process = subprocess.Popen(
                spec.argv,
                env={**spec.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT if log is not None else None,
                process_group=group,
                preexec_fn=lambda: die_with_parent(parent),
                pass_fds=(*spec.inherits, *inherits),
            )
        except OSError as error:
            raise ConfigError(f"launch: cannot start {spec.argv[0]!r}: {error.strerror}") from error
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
