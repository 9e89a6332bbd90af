"""Certificates of a parameter-server job: given on the command line, or made for it with the
``openssl`` program.

A host makes one certificate for its servers; the private key stays on the host, the certificate
is part of what the host publishes, sealed, and the processes of the job trust exactly those.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from argosy.foundation import programs
from argosy.foundation.endpoints import is_loopback
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.servers.host import CLEAR, GIVEN, MADE
from argosy.runtime.launch.servers.spec import PsSpec

_DAYS = 365
_OPENSSL_S = 60.0


@dataclass(frozen=True)
class TlsFiles:
    """Paths that the processes of this host are told; ``cert`` and ``key`` are for its servers and
    empty if it has none.
    """

    root: str
    cert: str = ""
    key: str = ""


@dataclass(frozen=True)
class Certificate:
    """A certificate and its private key, as PEM."""

    cert: str
    key: str = field(repr=False)


def mode(spec: PsSpec, where: str) -> str:
    """How servers and workers talk that meet at the host ``where``: by TLS if it was asked for, or
    if others can reach that place and nobody said no.
    """
    if spec.tls_root:
        return GIVEN
    is_wanted = not is_loopback(where) if spec.uses_tls is None else spec.uses_tls
    return MADE if is_wanted else CLEAR


def given(spec: PsSpec, has_servers: bool) -> TlsFiles:
    """Check the files that were named; ``has_servers``: this host has some."""
    if has_servers and not spec.tls_cert:
        raise ConfigError(
            "launch: this host runs servers, so --tls_root needs --tls_cert and --tls_key beside it"
        )
    for flag, path in (
        ("--tls_root", spec.tls_root),
        ("--tls_cert", spec.tls_cert),
        ("--tls_key", spec.tls_key),
    ):
        if path and not Path(path).is_file():
            raise ConfigError(f"launch: {flag} names {path!r}, which is no file")
    return TlsFiles(
        *(
            str(Path(path).absolute()) if path else ""
            for path in (spec.tls_root, spec.tls_cert, spec.tls_key)
        )
    )


def make_certificate(folder: Path, hosts: Sequence[str]) -> tuple[Path, Path]:
    """Make a key and a certificate for servers at ``hosts``; returns the paths of certificate and
    key.
    """
    program = shutil.which("openssl")
    if program is None:
        raise ConfigError(
            "launch: --tls, the default between hosts, needs the openssl program to make "
            "certificates, and there is none; install it, or give --tls_cert, --tls_key and "
            "--tls_root, or let everything travel in the clear with --tls false"
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = ",".join(sorted({_alternative(host) for host in hosts}))
    command = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(_DAYS), "-subj", "/CN=argosy",
        "-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    done = programs.run(
        command, "launch: --tls: openssl, which was to make a certificate,", _OPENSSL_S
    )
    if done.code:
        raise ConfigError(
            f"launch: openssl could not make a certificate for {', '.join(hosts)}.{done.last_words}"
        )
    return cert, key


def make(hosts: Sequence[str]) -> Certificate:
    """A new certificate for servers at ``hosts``, in memory: nothing is left if this process ends
    before the job begins.
    """
    with tempfile.TemporaryDirectory(prefix="argosy-tls-") as folder:
        cert, key = make_certificate(Path(folder) / "made", hosts)
        return Certificate(cert.read_text(), key.read_text())


def _alternative(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def write(folder: Path, own: Certificate | None, certificates: Sequence[str]) -> TlsFiles:
    """The files of this host: what its servers show, if it has any, and what everybody here trusts,
    which is the servers' certificates of all hosts.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = folder / "root.pem"
    root.write_text("".join(dict.fromkeys(certificates)))
    if own is None:
        return TlsFiles(str(root))
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_text(own.cert)
    with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(own.key)
    return TlsFiles(str(root), str(cert), str(key))
