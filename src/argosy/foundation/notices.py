"""What a process tells the launcher that started it, a line each, through a pipe that it inherits.

The pipe's number is in a variable that children of the process inherit too, and not the pipe with
it; so the variable names the pipe itself as well, and nobody writes into a file of that number.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass

from argosy.foundation import env

VARIABLE = "ARGOSY_LAUNCHER_PIPE"

LOOP = "loop"  # the process saves when it is asked; number: the signals by which it can be
LEFT = "left"  # it does so no more
ASKED = "asked"  # it has been asked by a signal, which is the number, or by another process
SAVED = "saved"  # it has saved, after as many steps, and ends
_KINDS = (LOOP, LEFT, ASKED, SAVED)


@dataclass(frozen=True)
class Notice:
    """Who says what."""

    pid: int
    kind: str
    number: int = 0


def tell(kind: str, number: int = 0) -> None:
    """Tell the launcher, if one is there to hear it; safe in a handler of signals."""
    fd = _pipe()
    if fd is None:
        return
    line = json.dumps([os.getpid(), kind, number]) + "\n"
    try:
        os.write(fd, line.encode())  # one piece: it is shorter than PIPE_BUF
    except (BrokenPipeError, BlockingIOError):
        return  # the launcher has gone, or does not read: nobody is to be told


def _pipe() -> int | None:
    number, _, inode = env.get(VARIABLE).partition(":")
    if not number.isdigit():
        return None
    try:
        found = os.fstat(int(number))
    except OSError:
        return None
    is_ours = stat.S_ISFIFO(found.st_mode) and str(found.st_ino) == inode
    return int(number) if is_ours else None


class Mailbox:
    """The launcher's end. ``fd`` is what children inherit, ``address`` the value of ``VARIABLE``
    for them.
    """

    def __init__(self) -> None:
        self._end, self.fd = os.pipe()
        os.set_blocking(self._end, False)
        os.set_blocking(self.fd, False)
        self.address = f"{self.fd}:{os.fstat(self.fd).st_ino}"
        self._rest = b""

    def read(self) -> list[Notice]:
        """What has been told since the last call."""
        while True:
            try:
                self._rest += os.read(self._end, 1 << 16)
            except BlockingIOError:
                break
        *lines, self._rest = self._rest.split(b"\n")
        return [notice for line in lines if (notice := _parse(line)) is not None]

    def close(self) -> None:
        os.close(self._end)
        os.close(self.fd)


def _parse(line: bytes) -> Notice | None:
    """A line as a notice; None for one that a script wrote for its own reasons."""
    try:
        pid, kind, number = json.loads(line)
    except (ValueError, TypeError):
        return None
    if type(pid) is not int or kind not in _KINDS or type(number) is not int:
        return None
    return Notice(pid, kind, number)
