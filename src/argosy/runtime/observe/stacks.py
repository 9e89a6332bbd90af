"""Where each thread of a process is, told when the launcher asks: also by a process that hangs, in
compiled code too.

The launcher makes a file without a name for each process, which inherits it. A signal has the
process write the stacks of all its threads there, in the signal's handler, without the interpreter
(``faulthandler``). Stacks have names of files and functions and numbers of lines, no values.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Mapping, Sequence

VARIABLE = "ARGOSY_STACKS"
# one that nobody else uses; it is sent only to processes that have said that they know it
SIGNAL = signal.SIGRTMIN + 9
_LOOK_S = 0.01
_QUIET_S = 0.05
_MOST_BYTES = 1 << 20


class Stacks:
    """The launcher's end: a file for each of ``labels``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._files = {label: os.memfd_create("argosy-stacks", os.MFD_CLOEXEC) for label in labels}

    def fd(self, label: str) -> int:
        """What a process inherits."""
        return self._files[label]

    def variable(self, label: str) -> str:
        """The value of VARIABLE for a process."""
        return f"{self._files[label]}:{os.fstat(self._files[label]).st_ino}"

    def ask(self, pid_by_label: Mapping[str, int], limit_s: float = 1.0) -> dict[str, str]:
        """The stacks of these processes, which must have called ``answer``; without those that do
        not answer within ``limit_s`` together.
        """
        for label, pid in pid_by_label.items():
            os.ftruncate(self._files[label], 0)
            os.lseek(self._files[label], 0, os.SEEK_SET)  # the process has the same position
            try:
                os.kill(pid, SIGNAL)
            except ProcessLookupError:
                continue
        end_s = time.monotonic() + limit_s
        found = {label: self._read(label, end_s) for label in pid_by_label}
        return {label: text for label, text in found.items() if text}

    def _read(self, label: str, end_s: float) -> str:
        """What is written, once nothing more comes."""
        size, since_s = 0, time.monotonic()
        while True:
            now_s, found = time.monotonic(), os.fstat(self._files[label]).st_size
            if found != size:
                size, since_s = found, now_s
            if now_s >= end_s or (size and now_s - since_s >= _QUIET_S):
                data = os.pread(self._files[label], min(size, _MOST_BYTES), 0)
                return data.decode(errors="replace")
            time.sleep(_LOOK_S)

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()


def answer(value: str) -> bool:
    """Have this process write its stacks when it is asked; ``value`` of VARIABLE says where. False
    if it has not inherited that file.
    """
    number, _, inode = value.partition(":")
    try:
        found = os.fstat(int(number))
    except (ValueError, OSError):
        return False
    if str(found.st_ino) != inode:
        return False
    faulthandler.register(SIGNAL, file=int(number), all_threads=True)
    return True


def forget() -> None:
    """Write nothing any more."""
    faulthandler.unregister(SIGNAL)
