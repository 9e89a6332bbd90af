"""The TCP connections that a process group opens, found from outside, so that they can be broken.

gloo has no call that ends a wait (its ``abort`` does nothing to one under way), and a group may wait for half an hour. Breaking its
connections does end it, on this rank and on its peers. They are the connected sockets that appear while the group is made, but for those
to servers that this process already talked to, or of servers that it runs: the store's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_FDS = "/proc/self/fd"


@dataclass(frozen=True)
class _Connection:
    fd: int
    inode: int
    local: Any
    remote: Any  # None for a listener


class Connections:
    """Those that were opened inside ``with Connections() as opened``."""

    def __init__(self) -> None:
        self._before: set[_Connection] = set()
        self._found: list[_Connection] = []

    def __enter__(self) -> Connections:
        self._before = set(_tcp_sockets())
        return self

    def __exit__(self, *exc_info: object) -> None:
        servers = {c.remote for c in self._before if c.remote} | {c.local for c in self._before if not c.remote}
        self._found = [
            c
            for c in _tcp_sockets()
            if c.remote and c not in self._before and c.remote not in servers and c.local not in servers
        ]

    def shut_down(self) -> None:
        """End them in both directions; those that are closed already are left alone."""
        for connection in self._found:
            with contextlib.suppress(OSError):
                # the descriptor's number may belong to something else by now, the inode does not
                if os.fstat(connection.fd).st_ino == connection.inode:
                    with socket.socket(fileno=os.dup(connection.fd)) as sock:
                        sock.shutdown(socket.SHUT_RDWR)
        self._found = []


def _tcp_sockets() -> Iterator[_Connection]:
    for name in os.listdir(_FDS):
        with contextlib.suppress(OSError):
            fd = int(name)
            status = os.fstat(fd)
            if not stat.S_ISSOCK(status.st_mode):
                continue
            with socket.socket(fileno=os.dup(fd)) as sock:
                if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
                    continue
                try:
                    remote = sock.getpeername()[:2]
                except OSError:
                    remote = None
                yield _Connection(fd, status.st_ino, sock.getsockname()[:2], remote)
