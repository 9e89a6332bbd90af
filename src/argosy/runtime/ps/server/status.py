"""Asking a server how it is doing, without being one of its workers; neither torch nor compiled
loops are loaded for it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow.flight as flight

from argosy.foundation.errors import ServerUnavailable
from argosy.runtime.ps.server.view import Sample
from argosy.runtime.ps.wire import handshake, messages


class Observer:
    """Asks the servers at ``endpoints``; each answer may take ``timeout_s``."""

    def __init__(
        self,
        endpoints: Sequence[str],
        token: str,
        timeout_s: float = 2.0,
        tls_root: bytes | None = None,
    ) -> None:
        self._endpoints = list(endpoints)
        self._token = token
        self._timeout_s = timeout_s
        self._tls_root = tls_root
        self._connections: dict[str, Any] = {}

    def ask(self, endpoint: str, action: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Have one server do an action; ServerUnavailable if it does not answer or does not let us
        in.
        """
        request = {"action": action, "body": body or {}}
        try:
            connection = self._connection(endpoint)
            stream = handshake.Stream(
                connection, endpoint, self._token, {"op": "act"}, self._timeout_s
            )
            answer = stream.ask(request)
        except handshake.BROKEN as error:
            self._drop(endpoint)
            reason = next(iter(str(error).splitlines()), "it ended the stream")
            raise ServerUnavailable(f"server {endpoint} did not answer: {reason}") from error
        return messages.check(answer, endpoint)

    def sample(self) -> Sample:
        """What every server says now; a server that does not answer counts as such."""
        found: dict[str, Any] = {}
        for endpoint in self._endpoints:
            try:
                found[endpoint] = self.ask(endpoint, "status")["tables"]
            except ServerUnavailable:
                found[endpoint] = None
        return Sample(time.monotonic(), found)

    def _connection(self, endpoint: str) -> Any:
        if endpoint not in self._connections:
            options = {} if self._tls_root is None else {"tls_root_certs": self._tls_root}
            scheme = "grpc" if self._tls_root is None else "grpc+tls"
            self._connections[endpoint] = flight.connect(f"{scheme}://{endpoint}", **options)
        return self._connections[endpoint]

    def _drop(self, endpoint: str) -> None:
        connection = self._connections.pop(endpoint, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        for endpoint in list(self._connections):
            self._drop(endpoint)

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
