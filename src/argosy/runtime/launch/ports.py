"""Ports of a job, held by its launcher from before they are announced until the job ends."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from argosy.foundation.endpoints import LOOPBACK, bind_listener, endpoint_of
from argosy.runtime.ps.server.port import keep


def reserve(stack: ExitStack, host: str, start_port: int | None, count: int) -> tuple[str, ...]:
    """Listen on ``count`` endpoints of ``host`` for as long as ``stack`` lives; the kernel chooses
    the ports if none is given.
    """
    ports = [0 if start_port is None else start_port + n for n in range(count)]
    return tuple(str(endpoint_of(stack.enter_context(bind_listener(host, port)))) for port in ports)


def keep_ports(
    stack: ExitStack, count: int, *, host: str = LOOPBACK, lets_others_listen: bool
) -> dict[str, int]:
    """Keep ``count`` ports of this host until ``stack`` ends, without listening: the descriptors
    of their sockets, by endpoint. ``host`` is the own address that has them.

    Who inherits the socket can listen on its port; with ``lets_others_listen`` anybody can.
    """
    descriptor_by_endpoint = {}
    for _ in range(count):
        keeper = stack.enter_context(keep(host))
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(lets_others_listen))
        descriptor_by_endpoint[str(endpoint_of(keeper))] = keeper.fileno()
    return descriptor_by_endpoint
