"""Hosts that exchange buckets by their threads: several in one process, joined by real
connections. No two have the same name in the store of a session.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from argosy.runtime.comm.backends.freight import Freight
from argosy.runtime.comm.backends.joining import close_all, connect_all
from argosy.runtime.comm.backends.shm.board import lonely_seat
from support.join import open_store

_names = (f"freight-{i}" for i in itertools.count())


def _made(count: int, make: Callable[[int, Any], Any], rendezvous: dict[str, Any]) -> list[Any]:
    """What ``make(host, store)`` gives on each of ``count`` hosts, all at once."""

    def one(host: int) -> Any:
        with open_store(rendezvous) as store:
            return make(host, store)

    with ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(one, host) for host in range(count)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:  # whoever waited for one that failed says least
        raise BaseExceptionGroup("hosts that did not join", errors)
    return [future.result() for future in futures]


@contextlib.contextmanager
def freights(hosts: int, rendezvous: dict[str, Any]) -> Iterator[list[Freight]]:
    name = next(_names)
    found = _made(
        hosts, lambda host, store: Freight(name, host, hosts, store, 20.0, "127.0.0.1"), rendezvous
    )
    try:
        yield found
    finally:
        for freight in found:
            freight.close()


@contextlib.contextmanager
def beside_a_stranger(rendezvous: dict[str, Any]) -> Iterator[tuple[Freight, socket.socket]]:
    """Host 0, and the other end of its connection."""
    name = next(_names)

    def make(host: int, store: Any) -> Any:
        if host == 0:
            return Freight(name, 0, 2, store, 20.0, "127.0.0.1")
        seat = lonely_seat(1, 2)
        try:
            return connect_all("test", f"argosy/freight/{name}", 1, store, 20.0, "127.0.0.1", seat)
        finally:
            seat.leave()

    freight, socks = _made(2, make, rendezvous)
    try:
        yield freight, socks[0]
    finally:
        freight.close()
        close_all(list(socks.values()))
