"""How a worker of the pool joins a group; runs in the workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy.foundation.deadline import Deadline
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.store import StoreClient


def open_store(rendezvous: dict[str, Any], timeout_s: float = 20.0) -> StoreClient:
    """Connect to the test session's store."""
    return StoreClient(
        "127.0.0.1",
        rendezvous["port"],
        rendezvous["token"],
        Deadline.after(timeout_s),
        timeout_s=timeout_s,
    )


def make_backend(
    kind: str,
    name: str,
    rank: int,
    world_size: int,
    store: Any,
    timeout_s: float = 20.0,
    **options: Any,
) -> Backend:
    """Make one rank's end of a group; all ranks call it with one fresh ``name``."""
    if kind == "loopback":
        from argosy.runtime.comm.backends.loopback import LoopbackBackend

        return LoopbackBackend()
    if kind == "shm":
        from argosy.runtime.comm.backends.shm.backend import ShmBackend

        return ShmBackend(name, rank, world_size, store, timeout_s, **options)
    if kind == "hierarchical":
        from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend

        # made-up hosts: the letter of each rank
        hosts = options.pop("hosts")
        return HierarchicalBackend(name, rank, hosts, store, timeout_s, **options)
    from argosy.runtime.comm.backends.torch_pg import TorchBackend

    return TorchBackend(kind, name, rank, world_size, store, timeout_s, "127.0.0.1", **options)


@contextlib.contextmanager
def joined(
    kind: str,
    name: str,
    rank: int,
    world_size: int,
    rendezvous: dict[str, Any],
    timeout_s: float = 20.0,
    **options: Any,
) -> Iterator[Backend]:
    """A backend that is closed in the end, and its connection to the store."""
    with open_store(rendezvous) as store:
        # a worker that has just been replaced comes seconds later than the others; the group's
        # timeout is not for that
        store.add(f"{name}/here/{store.add(f'{name}/here', 1)}", 1)
        store.wait([f"{name}/here/{world_size}"])
        backend = make_backend(kind, name, rank, world_size, store, timeout_s, **options)
        try:
            yield backend
        finally:
            backend.close()
