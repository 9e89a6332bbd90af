"""A port that is kept for a server over its restarts: no other process can take it, before or
between.

The launcher binds it without SO_REUSEADDR and does not listen, so that the kernel refuses every
other bind, whoever asks. The server inherits the socket. Only while it binds itself does the socket
allow a second one; from then on the server listens, and the kernel refuses every other bind for
that reason.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from argosy.foundation.endpoints import Endpoint
from argosy.runtime.ps.wire.sockets import tcp_sockets


def keep(host: str) -> socket.socket:
    """Take a free port of ``host``; closing the socket gives it back."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    keeper = socket.socket(family, socket.SOCK_STREAM)
    try:
        keeper.bind((host, 0))
    except OSError:
        keeper.close()
        raise
    return keeper


@contextlib.contextmanager
def given_way(where: Endpoint) -> Iterator[None]:
    """Let this process bind ``where`` if it has inherited the socket that keeps it."""
    with contextlib.ExitStack() as stack:
        for keeper in (found.dup() for found in tcp_sockets() if _keeps(found, where)):
            stack.enter_context(keeper)
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stack.callback(keeper.setsockopt, socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        yield


def _keeps(found: socket.socket, where: Endpoint) -> bool:
    """Whether a socket is bound to ``where`` and neither listens nor is connected."""
    if found.getsockname()[:2] != (where.host, where.port):
        return False
    if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return False
    try:
        found.getpeername()
    except OSError:  # it has no peer
        return True
    return False
