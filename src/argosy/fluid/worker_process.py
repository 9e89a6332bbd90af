"""What Paddle's loaders of data do about worker processes that die: ``core._set_process_pids`` and
its fellows, for scripts with workers of their own.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import queue
import signal
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from argosy.foundation.errors import ChildFailed, DtypeError
from argosy.foundation.process_state import register


class WorkerFailed(ChildFailed, SystemError):
    """A process that loads data ended with an error or was killed."""


class _Workers:
    """The processes that are watched, by the key of their owner."""

    def __init__(self) -> None:
        self.pids_by_owner: dict[int, set[int]] = {}


_workers = register("watched worker processes", _Workers())


def _set_process_pids(key: int, pids: Iterable[int]) -> None:
    """Watch these child processes for the owner ``key``."""
    _workers.pids_by_owner[key] = set(pids)


def _erase_process_pids(key: int) -> None:
    """Watch the processes of ``key`` no more."""
    _workers.pids_by_owner.pop(key, None)


def _throw_error_if_process_failed() -> None:
    """Raise SystemError if a watched process ended with an error; it stays to be waited for."""
    for pids in _workers.pids_by_owner.values():
        for pid in sorted(pids):
            _check(pid, pids)


def _check(pid: int, pids: set[int]) -> None:
    found = None
    with contextlib.suppress(ChildProcessError):
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None or found.si_status == 0:
        return
    pids.clear()
    if found.si_code == os.CLD_EXITED:
        raise WorkerFailed(
            f"FatalError: DataLoader process (pid {pid}) exited unexpectedly with code "
            f"{found.si_status}. Load the data in this process to see the error: num_workers=0, or "
            "use_multiprocess=False."
        )
    raise WorkerFailed(
        f"FatalError: DataLoader process (pid {pid}) was killed by signal: "
        f"{signal.strsignal(found.si_status)}."
    )


def _set_process_signal_handler() -> None:
    """In a worker: faults are reported before they end it, and SIGTERM ends it in silence."""
    faulthandler.enable()
    signal.signal(signal.SIGTERM, _leave)


def _leave(signum: int, frame: FrameType | None) -> None:
    os._exit(0)


# queues between this process and workers of the script, which are emptied when it ends
multiprocess_queue_set: set[Any] = register("queues of worker processes", set())


def _cleanup() -> None:
    """Empty the queues to workers, so that nothing waits for what is in them."""
    while multiprocess_queue_set:
        waiting = multiprocess_queue_set.pop()
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()


class CleanupFuncRegistrar:
    """Functions that run when the process ends, and before it is ended by a signal."""

    @classmethod
    def register(
        cls, function: Callable[[], Any], signals: Iterable[signal.Signals] | None = None
    ) -> None:
        """Run ``function`` at exit and at each of ``signals``, after which the handler there was
        before is called, or the process ends.
        """
        if not callable(function):
            raise DtypeError(f"CleanupFuncRegistrar.register: {function!r} is not callable")
        atexit.register(function)
        for signum in signals or ():
            signal.signal(signum, _ending(function, signal.getsignal(signum)))


def _ending(function: Callable[[], Any], before: Any) -> Callable[[int, FrameType | None], None]:
    def handle(signum: int, frame: FrameType | None) -> None:
        function()
        if callable(before):
            before(signum, frame)
        else:
            sys.exit(signum)

    return handle
