"""How the ranks of a job find each other: a key-value store at one endpoint.

A launcher that serves the store itself says so with ARGOSY_STORE_SERVED; otherwise rank 0 does. Who
may take part is in ``token.py``.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation import endpoints, env
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CommError
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import token_for

__all__ = ["SERVED", "ServedStore", "connect", "token_for"]

SERVED = "ARGOSY_STORE_SERVED"


class ServedStore(StoreClient):
    """The client of a rank that also serves the store; closing it ends the server."""

    def __init__(self, server: StoreServer, *args: Any, **kwargs: Any) -> None:
        self._server = server
        super().__init__(*args, **kwargs)

    def _gone(self, error: Exception) -> CommError:
        self._server.check()  # knows why
        return super()._gone(error)

    def close(self) -> None:
        super().close()
        self._server.close()


def connect(
    endpoint: str, rank: int, timeout_s: float, is_served: bool | None = None
) -> StoreClient:
    """Reach the job's store, serving it first if that falls to this rank; ``is_served``: whether a
    launcher does, which else the environment says.
    """
    where = endpoints.parse(endpoint, "the master endpoint")
    host, port = where.host, where.port
    token = token_for(where)
    deadline = Deadline.after(timeout_s)
    if is_served is None:
        is_served = env.get(SERVED) == "1"
    if rank == 0 and not is_served:
        server = StoreServer(endpoints.bind_listener(host, port), token)
        try:
            return ServedStore(server, host, port, token, deadline)
        except BaseException:
            server.close()
            raise
    return StoreClient(host, port, token, deadline)
