"""The meeting point of several hosts, ``--master``: who serves it, and how this host reaches it."""

from __future__ import annotations

import contextlib
import socket

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint, bind_listener, is_loopback
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store import StoreClient, TokenRefused

JOIN_S = 600  # how long a host waits for the others
_ANYWHERE = "0.0.0.0"


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


def listen(where: Endpoint, is_first: bool) -> socket.socket | None:
    """Listen at ``where`` if this host can and no other launcher does; ``is_first``: it was told
    that it is the first host.
    """
    # a host's own name often stands for a loopback address there, and the first host's address may
    # be one that is forwarded to it
    addresses = [_ANYWHERE if _is_name_of_loopback(where.host) else where.host]
    if is_first:
        addresses.append(_ANYWHERE)
    for address in addresses:
        with contextlib.suppress(ConfigError):
            return bind_listener(address, where.port)
    return None


def _is_name_of_loopback(name: str) -> bool:
    if is_loopback(name):
        return False
    with contextlib.suppress(OSError):
        return socket.gethostbyname(name).startswith("127.")
    return False


def own_address(store: StoreClient) -> str:
    """The address from which this host reaches the master."""
    where = store.endpoint
    if _is_name_of_loopback(where.host):
        raise ConfigError(
            f"launch: here {where.host} is a loopback address, which other hosts cannot reach; "
            "name this host's with --host"
        )
    with socket.socket(
        socket.AF_INET6 if ":" in where.host else socket.AF_INET, socket.SOCK_DGRAM
    ) as probe:
        probe.connect((where.host, where.port))  # sends nothing
        address: str = probe.getsockname()[0]
        return address
