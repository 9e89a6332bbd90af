"""What one host brings to a parameter-server job, as its launcher publishes it. Pure.

A record is sealed with the job's token: who can change what travels to and from the store, but does
not know the token, cannot put a certificate or an endpoint of his own into it.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from argosy.runtime.comm.frames import is_proof, prove
from argosy.runtime.launch.hosts import (
    MAX_PROCESSES,
    check_endpoint,
    check_place,
    is_count,
    read_json,
    wrong,
)

CLEAR, MADE, GIVEN = "", "made", "given"  # how servers and workers talk
_ROLE = "launch-host"  # of the proof
_SEAL_LENGTH = 64
_LONGEST_CERTIFICATE = 1 << 14
_CERTIFICATE = re.compile(
    "-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n"
)


@dataclass(frozen=True, kw_only=True)
class ServerHost:
    """``asked_rank`` is the host's ``--rank``, -1 without one; ``num_hosts`` how many it waits for,
    0 where servers and workers are listed. ``certificate`` (PEM) is for its servers.
    """

    address: str
    asked_rank: int = -1
    num_hosts: int = 0
    servers: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    tls: str = CLEAR
    certificate: str = ""

    def sealed(self, token: str, key: str) -> str:
        """The record as it is stored under ``key``."""
        text = json.dumps(asdict(self))
        return _seal(token, key, text.encode()).hex() + text

    @classmethod
    def unsealed(cls, value: bytes, token: str, key: str) -> ServerHost:
        """Read what another launcher has stored under ``key``; CommError if it is anything but a
        record of this job.
        """
        seal, text = value[:_SEAL_LENGTH], value[_SEAL_LENGTH:]
        try:
            is_right = is_proof(bytes.fromhex(seal.decode()), token, _ROLE, (key.encode(), text))
        except ValueError:
            is_right = False
        if not is_right:
            raise wrong(key, "a host whose seal is broken")
        found = read_json(text, key)
        if not isinstance(found, dict) or sorted(found) != sorted(f.name for f in fields(cls)):
            raise wrong(key, "something that does not describe a host")
        check_place(found["address"], found["asked_rank"], key)
        if not is_count(found["num_hosts"], 1 << 16):
            raise wrong(key, "a host that waits for a number of hosts that is none")
        for name in ("servers", "workers"):
            found[name] = _endpoints(found[name], name, key)
        if not found["servers"] and not found["workers"]:
            raise wrong(key, "a host without servers and workers")
        _check_tls(found, key)
        return cls(**found)


def _seal(token: str, key: str, text: bytes) -> bytes:
    return prove(token, _ROLE, (key.encode(), text))


def _endpoints(value: Any, name: str, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_PROCESSES:
        raise wrong(key, f"a host whose {name} are not a list of at most {MAX_PROCESSES}")
    for endpoint in value:
        check_endpoint(endpoint, key)
    return tuple(value)


def _check_tls(found: dict[str, Any], key: str) -> None:
    certificate = found["certificate"]
    if found["tls"] not in (CLEAR, MADE, GIVEN):
        raise wrong(key, "a host whose servers talk in an unknown way")
    if not isinstance(certificate, str) or len(certificate) > _LONGEST_CERTIFICATE:
        raise wrong(key, "a host whose certificate is not one")
    is_due = found["tls"] == MADE and bool(found["servers"])
    if bool(certificate) != is_due or (is_due and not _CERTIFICATE.fullmatch(certificate)):
        raise wrong(key, "a host whose certificate is not one")
