"""Where a process finds the certificates of its job: files that ARGOSY_TLS_CERT, ARGOSY_TLS_KEY
(servers) and ARGOSY_TLS_ROOT (everybody) name.
"""

from __future__ import annotations

from pathlib import Path

from argosy.foundation import env
from argosy.foundation.errors import ConfigError

CERT, KEY, ROOT = "ARGOSY_TLS_CERT", "ARGOSY_TLS_KEY", "ARGOSY_TLS_ROOT"


def scheme() -> str:
    """How a server's location begins."""
    return "grpc+tls" if env.get(CERT) else "grpc"


def server_certificates() -> list[tuple[bytes, bytes]] | None:
    """Certificate and key for ``Service``; None without TLS."""
    if not env.get(CERT):
        return None
    return [(_read(CERT), _read(KEY))]


def root_certificates() -> bytes | None:
    """The certificates that clients trust, for ``Client``; None without TLS."""
    return _read(ROOT) if env.get(ROOT) else None


def _read(variable: str) -> bytes:
    path = env.get(variable)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{variable} must name a file, but is {path!r}: {error.strerror}"
        ) from error
