"""A session: this process's part in a job. It owns the store and the groups, and ends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import ConfigError, UsageError
from argosy.runtime.comm import hosts
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.group import Group


def _make_backend(
    kind: str, name: str, rank: int, hosts_of_ranks: Sequence[str], store: Any, timeout_s: float, address: str
) -> Backend:
    """Build a backend; modules are imported here so that a job pays only for the one it uses."""
    world_size = len(hosts_of_ranks)
    if kind == "loopback":
        from argosy.runtime.comm.backends.loopback import LoopbackBackend

        return LoopbackBackend()
    if kind == "shm":
        from argosy.runtime.comm.backends.shm.backend import ShmBackend

        return ShmBackend(name, rank, world_size, store, timeout_s)
    if kind == "hierarchical":
        from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend

        return HierarchicalBackend(name, rank, hosts_of_ranks, store, timeout_s, address)
    from argosy.runtime.comm.backends.torch_pg import TorchBackend

    return TorchBackend(kind, name, rank, world_size, store, timeout_s, address)


class Session:
    """Joins rank ``rank`` of ``world_size`` through ``store``, a torch store that all ranks reach.

    All ranks make the same groups in the same order.
    """

    def __init__(
        self,
        *,
        rank: int,
        world_size: int,
        store: Any,
        backend: str = "auto",
        timeout_s: float = 1800.0,
        address: str = "127.0.0.1",
    ) -> None:
        if not 0 <= rank < world_size:
            raise ConfigError(
                f"the rank must be at least 0 and below the world size, but they are {rank} and {world_size}"
            )
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self.store = store
        self._address = address
        self._kind = backend
        self._groups: dict[int, Group] = {}
        self._closers: list[Callable[[], None]] = []
        store.set(f"argosy/host/{rank}", hosts.host_identity())
        self._hosts = [store.get(f"argosy/host/{r}").decode() for r in range(world_size)]
        self._next_id = 0
        self.world = self.new_group(range(world_size), name="world")

    def new_group(
        self, ranks: Sequence[int], backend: str | None = None, timeout_s: float | None = None, name: str | None = None
    ) -> Group:
        """Make a group; every rank of the job calls it, members or not."""
        members = list(ranks)
        if len(set(members)) != len(members):
            raise UsageError(f"new_group: ranks must be different, but received {members}")
        outside = [r for r in members if not 0 <= r < self.world_size]
        if outside:
            raise UsageError(f"new_group: ranks {outside} are outside the job's 0..{self.world_size - 1}")
        id, self._next_id = self._next_id, self._next_id + 1
        label = name or f"group {id}"
        made = None
        if self.rank in members:
            kind = hosts.choose(
                backend or self._kind,
                [self._hosts[r] for r in members],
                torch.cuda.is_available(),
                _registered_with_torch(),
            )
            made = _make_backend(
                kind,
                f"{label}-{id}" if name is None else label,
                members.index(self.rank),
                [self._hosts[r] for r in members],
                self.store,
                self.timeout_s if timeout_s is None else timeout_s,
                self._address,
            )
        group = Group(id=id, name=label, ranks=members, global_rank=self.rank, backend=made)
        self._groups[id] = group
        return group

    def group(self, id: int) -> Group | None:
        return self._groups.get(id)

    def drop(self, group: Group) -> None:
        """Close one group."""
        self._groups.pop(group.id, None)
        group.close()

    def on_close(self, call: Callable[[], None]) -> None:
        """Call ``call`` when the session closes, before its groups do."""
        self._closers.append(call)

    def close(self) -> None:
        """Close what was registered and every group, youngest first, then the store."""
        while self._closers:
            self._closers.pop()()
        for id in sorted(self._groups, reverse=True):
            self._groups.pop(id).close()
        close_store = getattr(self.store, "close", None)
        if close_store is not None:
            close_store()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _registered_with_torch() -> list[str]:
    """Backends that other packages registered with torch.distributed."""
    plugins: dict[str, Any] = getattr(torch.distributed.Backend, "_plugins", {})
    return [name.lower() for name in plugins]
