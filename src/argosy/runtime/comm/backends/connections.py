"""The TCP connections that a process group opens, found from outside, so that they can be broken.

gloo has no call that ends a wait (its ``abort`` does nothing to one under way), and a group may
wait for half an hour. Breaking its connections does end it, on this rank and on its peers. They are
the connected sockets that appear while the group is made, but for those to servers that this
process already talked to, or of servers that it runs: the store's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Collection, Iterable, Iterator
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
        servers = {c.remote for c in self._before if c.remote} | {
            c.local for c in self._before if not c.remote
        }
        self._found = [
            c
            for c in _tcp_sockets()
            if c.remote
            and c not in self._before
            and c.remote not in servers
            and c.local not in servers
        ]

    def shut_down(self) -> None:
        """End them in both directions; those that are closed already are left alone."""
        for connection in self._found:
            with contextlib.suppress(OSError):
                if _is_still(connection):
                    with socket.socket(fileno=os.dup(connection.fd)) as sock:
                        sock.shutdown(socket.SHUT_RDWR)
        self._found = []

    def forget(self) -> None:
        """Let go of this process's copies of them, in a forked child; the parent's stay open."""
        _blind(c.fd for c in self._found if _is_still(c))
        self._found = []


def connected_to(port: int) -> set[tuple[str, int]]:
    """The addresses with this port that this process is connected to."""
    return {c.remote for c in _tcp_sockets() if c.remote and c.remote[1] == port}


def forget_server(places: Collection[tuple[str, int]]) -> None:
    """Let go of this process's copies of all connections to the server at ``places`` and, where it
    runs here, of its own sockets; in a forked child.
    """
    ports = {port for _, port in places}
    _blind(c.fd for c in list(_tcp_sockets()) if c.remote in places or c.local[1] in ports)


def _blind(fds: Iterable[int]) -> None:
    """Put ``/dev/null`` in the place of sockets: whoever holds their numbers may close them, and
    closes nothing else.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in fds:
        os.dup2(null, fd, inheritable=False)
    os.close(null)


def _is_still(connection: _Connection) -> bool:
    """Whether its descriptor is its own; the number may belong to something else by now, the inode
    does not.
    """
    with contextlib.suppress(OSError):
        return os.fstat(connection.fd).st_ino == connection.inode
    return False


def _tcp_sockets() -> Iterator[_Connection]:
    for name in os.listdir(_FDS):
        with contextlib.suppress(OSError):
            fd = int(name)
            status = os.fstat(fd)
            if not stat.S_ISSOCK(status.st_mode):
                continue
            with socket.socket(fileno=os.dup(fd)) as sock:
                if (
                    sock.family not in (socket.AF_INET, socket.AF_INET6)
                    or sock.type != socket.SOCK_STREAM
                ):
                    continue
                try:
                    remote = sock.getpeername()[:2]
                except OSError:
                    remote = None
                yield _Connection(fd, status.st_ino, sock.getsockname()[:2], remote)
