"""The TCP connections of this process, found through ``/proc/self/fd``: gRPC opens them and gives
no way to them.

Linux only. A connection is looked at through a duplicate of its descriptor, which is checked before
it is used, so a number that was closed and given to another file meanwhile does no harm.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from argosy.foundation.endpoints import Endpoint, parse

# without a word, though something was sent; with a look each second a lost host is known within 5 s
LOST_MS = 3500
# struct tcp_info of linux/tcp.h: probes at 3, unacked at 24, last_data_recv at 52, last_ack_recv at
# 56
_INFO = struct.Struct("=3xB20xI24xII")
_LOST_PROBES = 2  # a peer that lives answers each; one may be on its way
_MAPPED = "::ffff:"


@dataclass(frozen=True)
class Connection:
    """One connection, while ``each`` stands at it."""

    link: socket.socket
    inode: int  # of this socket alone, as long as it is open
    here: Endpoint
    peer: Endpoint

    def keep_watch(self) -> None:
        """Have the kernel ask a silent peer every second, and end the connection when it does not
        answer.
        """
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
            # gRPC sets 20 s on what it accepts, and the kernel then counts these seconds instead of
            # its questions
            (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0),
        ):
            self.link.setsockopt(level, option, value)

    def is_lost(self) -> bool:
        """Whether the peer's host does not acknowledge what was sent: as long as that waits, the
        kernel asks nothing.

        What could not even leave this host, because its link is down, is not counted as sent; the
        kernel probes for it. Only where ``keep_watch`` was called before: on other connections
        nothing may have come for long because nothing was said. TCP_USER_TIMEOUT would also end
        connections to a process that is only frozen and whose buffer is full.
        """
        if not self.link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE):
            return False
        info = self.link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        probes, unacknowledged, *silent_ms = _INFO.unpack(info)
        is_owed = unacknowledged > 0 or probes >= _LOST_PROBES
        return is_owed and min(silent_ms) >= LOST_MS

    def cut(self) -> None:
        """End the connection in both directions; whoever waits in it wakes."""
        with contextlib.suppress(OSError):  # it ended by itself
            self.link.shutdown(socket.SHUT_RDWR)


def tcp_sockets() -> Iterator[socket.socket]:
    """Duplicates of this process's TCP sockets, each open as long as the iterator stands at it."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            link = socket.socket(fileno=os.dup(int(name)))
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise  # nothing can be said of those that are left
            continue  # closed meanwhile
        with link:
            if link.family in (socket.AF_INET, socket.AF_INET6) and link.type == socket.SOCK_STREAM:
                yield link


def each(is_wanted: Callable[[Endpoint, Endpoint], bool]) -> Iterator[Connection]:
    """Connections of this process whose own address and peer are ``is_wanted``."""
    for link in tcp_sockets():
        try:
            here, peer = _address(link.getsockname()), _address(link.getpeername())
            found = Connection(link, os.fstat(link.fileno()).st_ino, here, peer)
        except OSError:
            continue  # it listens, or is not connected any more
        if is_wanted(here, peer):
            yield found


def accepted(port: int) -> Iterator[Connection]:
    """Connections that were accepted at ``port``."""
    return each(lambda here, peer: here.port == port)


def outgoing(port: int, places: Collection[Endpoint]) -> Iterator[Connection]:
    """The connection from ``port`` of this process to one of ``places``."""
    return each(lambda here, peer: here.port == port and peer in places)


def addresses(endpoint: str) -> frozenset[Endpoint]:
    """Where connections to ``endpoint`` may lead, with numbers for names."""
    where = parse(endpoint)
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset((where,))
    return frozenset(_address(address) for *_, address in found)


def tend(connections: Iterator[Connection]) -> None:
    """Have ``connections`` watched, and cut those whose peer is lost."""
    for connection in connections:
        with contextlib.suppress(OSError):  # it ended meanwhile
            if connection.is_lost():
                connection.cut()
            else:
                connection.keep_watch()


def _address(address: tuple[object, ...]) -> Endpoint:
    host, port = str(address[0]), address[1]
    assert isinstance(port, int)
    return Endpoint(host.removeprefix(_MAPPED) if "." in host else host, port)
