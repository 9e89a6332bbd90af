"""Certificates of a parameter-server job: given on the command line, or made for it with the
``openssl`` program.

A host makes one certificate for its servers; the private key stays on the host, the certificate
goes through the job's store to all others, which trust exactly those.
"""

from __future__ import annotations

import ipaddress
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.foundation import programs
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.launch.spec import PsSpec

_MEET_S = 120.0
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


def given(spec: PsSpec, here: Sequence[int]) -> TlsFiles:
    """Check the files that were named; ``here`` are the servers of this host."""
    if here and not spec.tls_cert:
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
            "launch: --tls needs the openssl program to make certificates, and there is none; "
            "install it, or give --tls_cert, --tls_key and --tls_root"
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


def _alternative(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def made(
    folder: Path, servers: Sequence[str], here: Sequence[int], master: str, token: str
) -> TlsFiles:
    """Make this host's certificate, if servers (numbers) run ``here``, and collect those of all
    hosts at the job's store.
    """
    where = parse(master, "--master")
    with StoreClient(where.host, where.port, token, Deadline.after(_MEET_S), _MEET_S) as store:
        files = TlsFiles(str(folder / "root.pem"))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if here:
            cert, key = make_certificate(folder, [parse(servers[number]).host for number in here])
            files = TlsFiles(files.root, str(cert), str(key))
            for number in here:
                store.set(f"tls/{number}", cert.read_bytes())
        known = dict.fromkeys(store.get(f"tls/{number}") for number in range(len(servers)))
    Path(files.root).write_bytes(b"".join(known))
    return files
