"""The store as Paddle's C++ core shows it: values under names, at an endpoint that the master
serves.
"""

from __future__ import annotations

import weakref

from argosy.foundation import endpoints
from argosy.foundation.deadline import Deadline
from argosy.runtime.comm.rendezvous import ServedStore
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import token_for

__all__ = ["TCPStore"]

_JOINED, _COMPLETE = "init/", "init/complete"


class TCPStore:
    """Connect to the store at ``hostname:port``, which ``is_master`` serves; it returns there when
    all ``world_size`` processes have connected. ``timeout`` is in seconds, for every wait.
    ``close()`` leaves the store, and ends it where it is served.
    """

    def __init__(
        self, hostname: str, port: int, is_master: bool, world_size: int, timeout: float = 900
    ) -> None:
        deadline = Deadline.after(timeout)
        token = token_for(endpoints.Endpoint(hostname, port))
        self._store: StoreClient
        if is_master:
            server = StoreServer(endpoints.bind_listener(hostname, port), token)
            self._store = ServedStore(server, hostname, port, token, deadline, timeout)
        else:
            self._store = StoreClient(hostname, port, token, deadline, timeout)
        # scripts let go of it or end, and never close it
        self.close = weakref.finalize(self, self._store.close)
        if self._store.add(_JOINED, 1) == world_size:
            self._store.set(_COMPLETE, "1")
        if is_master:
            self.wait(_COMPLETE)

    def set(self, key: str, value: str | bytes) -> None:
        """Keep ``value`` under ``key``."""
        self._store.set(key, value)

    def get(self, key: str) -> bytes:
        """The value of ``key``; waits until there is one."""
        return self._store.get(key)

    def add(self, key: str, value: int) -> int:
        """Add to a number, which starts at 0, and return it."""
        return self._store.add(key, value)

    def wait(self, key: str) -> None:
        """Return when ``key`` has a value."""
        self._store.wait([key])
