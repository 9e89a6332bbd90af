"""Addresses of this host: where it can listen for others, and by which they reach it."""

from __future__ import annotations

import contextlib
import socket

from argosy.foundation.endpoints import Endpoint, bind_listener, is_loopback
from argosy.foundation.errors import ConfigError

ANYWHERE = "0.0.0.0"
# an address that no host has (RFC 5737): the way there is the way to any other host
_SOMEWHERE = Endpoint("192.0.2.1", 9)


def is_name_of_loopback(name: str) -> bool:
    """Whether ``name``, which elsewhere is this host, is a loopback address here, as Debian has
    it.
    """
    if is_loopback(name):
        return False
    with contextlib.suppress(OSError):
        return socket.gethostbyname(name).startswith("127.")
    return False


def listen(where: Endpoint, is_first: bool) -> socket.socket | None:
    """Listen at ``where`` if this host can and nobody does; ``is_first``: it was told that it is
    the host of ``where``.
    """
    # a host's own name often stands for a loopback address there, and the first host's address may
    # be one that is forwarded to it
    addresses = [ANYWHERE if is_name_of_loopback(where.host) else where.host]
    if is_first:
        addresses.append(ANYWHERE)
    for address in addresses:
        with contextlib.suppress(ConfigError):
            return bind_listener(address, where.port)
    return None


def towards(where: Endpoint) -> str:
    """The address of this host on the way to ``where``."""
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((where.host, where.port))  # sends nothing
        address: str = probe.getsockname()[0]
        return address


def own_address(where: Endpoint) -> str:
    """The address by which the hosts that meet at ``where`` reach this one."""
    try:
        found = towards(where)
        if is_loopback(found) and not is_loopback(where.host):
            found = towards(_SOMEWHERE)
    except OSError as error:
        raise ConfigError(
            f"this host has no way to {where}, where the ranks meet: {error.strerror or error}"
        ) from error
    return found
