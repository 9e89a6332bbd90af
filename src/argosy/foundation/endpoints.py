"""Addresses of processes, ``host:port``, and the sockets that listen on them."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from argosy.foundation.errors import ConfigError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Endpoint:
    """Where a process listens. ``host`` is a name or an address, an IPv6 one without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether ``host`` leads to this machine wherever it is read: 127.0.0.0/8, ::1 or localhost.
    Other names are not looked up.
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback if mapped is None else mapped.is_loopback


def parse(text: str, source: str = "endpoint") -> Endpoint:
    """Read ``host:port`` or ``[ipv6]:port``; ``source`` is the variable or argument that errors
    name.
    """
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ConfigError(
            f"{source}: {text!r} is ambiguous; write an IPv6 address in brackets, as in "
            "'[::1]:6170'"
        )
    if not colon or not host:
        raise ConfigError(f"{source}: expected 'host:port', but received {text!r}")
    if not (port.isascii() and port.isdigit()) or not 0 <= int(port) <= 65535:
        raise ConfigError(
            f"{source}: the port of {text!r} must be a number from 0 to 65535, but is {port!r}"
        )
    return Endpoint(host, int(port))


def parse_list(text: str, source: str = "endpoints") -> tuple[Endpoint, ...]:
    """Read endpoints separated by commas (or semicolons, as older launchers write them); none may
    appear twice.
    """
    parts = [part for part in text.replace(";", ",").split(",") if part.strip()]
    if not parts:
        raise ConfigError(
            f"{source}: expected a list such as '127.0.0.1:6170,127.0.0.1:6171', but received "
            f"{text!r}"
        )
    found = tuple(parse(part, source) for part in parts)
    repeated = next((e for i, e in enumerate(found) if e in found[:i]), None)
    if repeated is not None:
        raise ConfigError(f"{source}: {repeated} appears twice in {text!r}")
    return found


def bind_listener(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Return a listening socket; the kernel chooses the port when it is 0.

    The port belongs to the caller from here on, so it can be announced without a race; closing the
    socket gives it back.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {Endpoint(host, port)}: {error.strerror or error}"
        ) from error
    listener = socket.socket(family, kind, proto)
    try:
        # lets a restarted job take its port back while connections of the last one linger; does not
        # allow two listeners
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {Endpoint(host, port)}: {error.strerror or error}"
        ) from error
    return listener


def is_open(endpoint: Endpoint, limit_s: float = 1.0) -> bool:
    """Whether somebody listens there; asked once."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), limit_s).close()
    except OSError:
        return False
    return True


def is_refused(endpoint: Endpoint, limit_s: float = 1.0) -> bool:
    """Whether the host says that nobody listens there; asked once. A host that says nothing, which
    may be busy or cut off, has not refused.
    """
    try:
        socket.create_connection((endpoint.host, endpoint.port), limit_s).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def endpoint_of(listener: socket.socket) -> Endpoint:
    """The address that ``listener`` is bound to."""
    host, port = listener.getsockname()[:2]
    return Endpoint(host, port)
