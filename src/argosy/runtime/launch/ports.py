"""Ports of a job, held by its launcher from before they are announced until the job ends."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from argosy.foundation.endpoints import LOOPBACK, bind_listener, endpoint_of
from argosy.runtime.ps.port import keep


def reserve(stack: ExitStack, host: str, start_port: int | None, count: int) -> tuple[str, ...]:
    """Listen on ``count`` endpoints of ``host`` for as long as ``stack`` lives; the kernel chooses
    the ports if none is given.
    """
    ports = [0 if start_port is None else start_port + n for n in range(count)]
    return tuple(str(endpoint_of(stack.enter_context(bind_listener(host, port)))) for port in ports)


class KeptPorts:
    """Ports of servers and workers on this host, kept until ``stack`` ends; a server inherits the
    socket of its own.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.descriptor_by_endpoint: dict[str, int] = {}

    def for_server(self) -> str:
        keeper = self._stack.enter_context(keep(LOOPBACK))
        endpoint = str(endpoint_of(keeper))
        self.descriptor_by_endpoint[endpoint] = keeper.fileno()
        return endpoint

    def for_worker(self) -> str:
        """Nothing of ours connects to a worker; its script may want to listen there by itself."""
        keeper = self._stack.enter_context(keep(LOOPBACK))
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return str(endpoint_of(keeper))
