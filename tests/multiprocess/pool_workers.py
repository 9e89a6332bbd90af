"""What the workers do in the tests of the pool itself and of torch's groups."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
import torch
import torch.distributed as dist

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.backends import torch_groups
from support.join import joined, make_backend, open_store


def square(rank: int, world_size: int, *, base: int) -> tuple[int, int, int]:
    return rank, world_size, (base + rank) ** 2


def pid(rank: int, world_size: int) -> int:
    return os.getpid()


def fail_on(rank: int, world_size: int, *, culprit: int) -> None:
    if rank == culprit:
        raise ValueError(f"rank {rank} does not like this")


def misbehave(rank: int, world_size: int) -> None:
    """Rank 0 hangs, rank 1 exits."""
    if rank == 0:
        time.sleep(60)
    os._exit(7)


def registered(rank: int, world_size: int, *, extended: bool, name: str, rendezvous: Any) -> float:
    """A group that another package registered with torch is found by its name, whichever way it was
    registered.
    """

    def plain(store: Any, rank: int, size: int, timeout: Any) -> Any:
        return dist.ProcessGroupGloo(store, rank, size, timeout)

    def with_options(options: Any, pg_options: Any) -> Any:
        return dist.ProcessGroupGloo(
            options.store, options.group_rank, options.group_size, options.timeout
        )

    plugins = dist.Backend._plugins
    plugins["LOCALTEST"] = dist.Backend._BackendPlugin(
        with_options if extended else plain, extended
    )
    try:
        assert "localtest" in torch_groups.available()
        with joined("localtest", name, rank, world_size, rendezvous) as group:
            tensor = torch.tensor([rank + 1.0])
            group.all_reduce(tensor, ReduceOp.SUM)
            group.barrier()
        return tensor.item()
    finally:
        del plugins["LOCALTEST"]


def unavailable(rank: int, world_size: int, *, kind: str, rendezvous: Any) -> str:
    with open_store(rendezvous) as store, pytest.raises(UsageError) as caught:
        make_backend(kind, "none", rank, world_size, store)
    return str(caught.value)


def default_group(rank: int, world_size: int, *, name: str, rendezvous: Any) -> bool:
    """Whether torch's default group is set up while one of ours is open."""
    with joined("gloo", name, rank, world_size, rendezvous) as group:
        group.barrier()
        return dist.is_initialized()
