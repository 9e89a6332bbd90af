"""Which ranks can share memory, and which backend that makes best. Deciding is a pure function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from argosy.foundation.errors import UsageError, nearest

KINDS = ("auto", "shm", "gloo", "nccl", "mpi", "ucc", "hierarchical", "loopback")
# Paddle's names of backends for devices that torch reaches through gloo or nccl
SYNONYMS = {"heter": "auto", "bkcl": "auto", "xccl": "auto", "flagcx": "auto", "hccl": "auto"}


def host_identity() -> str:
    """Equal in processes that can map each other's memory: one boot of one kernel, one pid
    namespace, one user.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{os.readlink('/proc/self/ns/pid')}/{os.getuid()}"


def choose(kind: str, hosts: Sequence[str], is_cuda: bool, registered: Sequence[str] = ()) -> str:
    """The backend for ranks on ``hosts`` (their identities, in rank order) when ``kind`` was asked
    for.
    """
    kind = SYNONYMS.get(kind, kind)
    known = [*KINDS, *SYNONYMS, *registered]
    if kind not in known:
        raise UsageError(
            f"backend must be one of {', '.join(known)}, but received "
            f"{kind!r}.{nearest(kind, known)}"
        )
    if len(hosts) == 1:
        return "loopback"
    one_host = len(set(hosts)) == 1
    if kind == "shm" and not one_host:
        raise UsageError(
            f"backend 'shm' shares memory inside one host, but the {len(hosts)} ranks run on "
            f"{len(set(hosts))}; "
            "use 'auto' (shared memory inside each host, gloo between them) or 'gloo'"
        )
    if kind != "auto":
        return kind
    if is_cuda:
        return "nccl"
    return "shm" if one_host else "hierarchical"
