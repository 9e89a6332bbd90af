"""How the ranks of a job find each other: a key-value store at one endpoint.

A launcher that serves the store itself says so with ARGOSY_STORE_SERVED; otherwise rank 0 does. ARGOSY_TOKEN is the job's secret; processes that
were started by hand without one use the endpoint itself.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation import endpoints, env
from argosy.foundation.deadline import Deadline
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.store_server import StoreServer

TOKEN = "ARGOSY_TOKEN"
SERVED = "ARGOSY_STORE_SERVED"


class ServedStore(StoreClient):
    """The client of a rank that also serves the store; closing it ends the server."""

    def __init__(self, server: StoreServer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._server = server

    def close(self) -> None:
        super().close()
        self._server.close()


def token_for(where: endpoints.Endpoint) -> str:
    """The secret of the job that meets at ``where``."""
    return env.get(TOKEN) or f"started by hand, meeting at {where}"


def connect(endpoint: str, rank: int, timeout_s: float) -> StoreClient:
    """Reach the job's store, serving it first if that falls to this rank."""
    where = endpoints.parse(endpoint, "the master endpoint")
    host, port = where.host, where.port
    token = token_for(where)
    deadline = Deadline.after(timeout_s)
    if rank == 0 and env.get(SERVED) != "1":
        server = StoreServer(endpoints.bind_listener(host, port), token)
        return ServedStore(server, host, port, token, deadline)
    return StoreClient(host, port, token, deadline)
