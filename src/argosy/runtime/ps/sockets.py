"""The TCP connections of this process, found through ``/proc/self/fd``: gRPC opens them and gives no way to them.

Linux only. A connection is looked at through a duplicate of its descriptor, which is checked before it is used, so a
number that was closed and given to another file meanwhile does no harm.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from argosy.foundation.endpoints import Endpoint, parse

LOST_MS = 3500  # without an acknowledgement of what was sent; with a look each second a lost host is known within 5 s
_RESENDS = 2
_INFO_BYTES = 60
# struct tcp_info of linux/tcp.h: retransmits at 2, unacked at 24, last_ack_recv at 56
_INFO = struct.Struct("=2xB21xI28xI")
_MAPPED = "::ffff:"


@dataclass(frozen=True)
class Connection:
    """One connection, while ``each`` stands at it."""

    link: socket.socket
    inode: int  # of this socket alone, as long as it is open
    here: Endpoint
    peer: Endpoint

    def keep_watch(self) -> None:
        """Have the kernel ask a silent peer every second, and end the connection when it is lost."""
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
        ):
            self.link.setsockopt(level, option, value)

    def is_lost(self) -> bool:
        """Whether the peer's host does not acknowledge what was sent; there the kernel sends no keepalives.

        TCP_USER_TIMEOUT would also end connections to a process that is only frozen and whose buffer is full.
        """
        info = self.link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        resends, unacknowledged, silent_ms = _INFO.unpack(info)
        return bool(unacknowledged and resends >= _RESENDS and silent_ms >= LOST_MS)

    def cut(self) -> None:
        """End the connection in both directions; whoever waits in it wakes."""
        with contextlib.suppress(OSError):  # it ended by itself
            self.link.shutdown(socket.SHUT_RDWR)


def each(is_wanted: Callable[[Endpoint, Endpoint], bool]) -> Iterator[Connection]:
    """Connections of this process whose own address and peer are ``is_wanted``."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            link = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue  # closed meanwhile
        with link:
            try:
                if link.family not in (socket.AF_INET, socket.AF_INET6) or link.type != socket.SOCK_STREAM:
                    continue
                here, peer = _address(link.getsockname()), _address(link.getpeername())
                found = Connection(link, os.fstat(link.fileno()).st_ino, here, peer)
            except OSError:
                continue  # it listens, or is not connected any more
            if is_wanted(here, peer):
                yield found


def accepted(port: int) -> Iterator[Connection]:
    """Connections that were accepted at ``port``."""
    return each(lambda here, peer: here.port == port)


def outgoing(places: Collection[Endpoint]) -> Iterator[Connection]:
    """Connections from this process to any of ``places``."""
    return each(lambda here, peer: peer in places)


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
            connection.keep_watch()
            if connection.is_lost():
                connection.cut()


def _address(address: tuple[object, ...]) -> Endpoint:
    host, port = str(address[0]), address[1]
    assert isinstance(port, int)
    return Endpoint(host.removeprefix(_MAPPED) if "." in host else host, port)
