"""The meeting point of several hosts, ``--master``: who serves it, and how this host reaches it."""

from __future__ import annotations

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.addresses import is_name_of_loopback, listen, towards
from argosy.runtime.comm.store import StoreClient, TokenRefused

__all__ = ["JOIN_S", "connect", "listen", "own_address"]

JOIN_S = 600  # how long a host waits for the others


def connect(where: Endpoint, token: str) -> StoreClient:
    """Wait for the launcher that serves the meeting point, and prove the token to it."""
    try:
        return StoreClient(where.host, where.port, token, Deadline.after(JOIN_S))
    except TokenRefused as error:
        raise ConfigError(
            f"launch: the launcher that serves the meeting point {where} has another token than "
            "this one; start this host with "
            "the ARGOSY_TOKEN that it was given, or that it printed"
        ) from error


def own_address(store: StoreClient) -> str:
    """The address from which this host reaches the master."""
    where = store.endpoint
    if is_name_of_loopback(where.host):
        raise ConfigError(
            f"launch: here {where.host} is a loopback address, which other hosts cannot reach; "
            "name this host's with --host"
        )
    return towards(where)
