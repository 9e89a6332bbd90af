"""A port that is kept for a server over its restarts: no other process can take it, before or between.

The launcher binds it without SO_REUSEADDR and does not listen, so that the kernel refuses every other bind, whoever asks.
The server inherits the socket. Only while it binds itself does the socket allow a second one; from then on the server
listens, and the kernel refuses every other bind for that reason.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

from argosy.foundation.endpoints import Endpoint


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
        for keeper in _keepers(where):
            stack.enter_context(keeper)
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stack.callback(keeper.setsockopt, socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        yield


def _keepers(where: Endpoint) -> Iterator[socket.socket]:
    """Duplicates of this process's sockets that are bound to ``where`` and do not listen."""
    if where.port == 0:
        return
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            found = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue  # closed meanwhile
        if _keeps(found, where):
            yield found
        else:
            found.close()


def _keeps(found: socket.socket, where: Endpoint) -> bool:
    try:
        if found.family not in (socket.AF_INET, socket.AF_INET6) or found.type != socket.SOCK_STREAM:
            return False
        if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return False
        if found.getsockname()[:2] != (where.host, where.port):
            return False
        found.getpeername()
    except OSError:  # the socket that keeps a port has no peer
        return True
    return False
