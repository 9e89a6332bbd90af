"""``paddle.distributed.collective``: groups are made here; the older module path of the
collectives.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication.all_gather import all_gather, all_gather_object
from argosy.distributed.communication.all_reduce import all_reduce
from argosy.distributed.communication.all_to_all import alltoall, alltoall_single
from argosy.distributed.communication.broadcast import broadcast
from argosy.distributed.communication.group import (
    Group,
    barrier,
    destroy_process_group,
    get_group,
    is_initialized,
    wait,
)
from argosy.distributed.communication.recv import irecv, recv
from argosy.distributed.communication.reduce import ReduceOp, reduce
from argosy.distributed.communication.reduce_scatter import reduce_scatter
from argosy.distributed.communication.scatter import scatter
from argosy.distributed.communication.send import isend, send
from argosy.distributed.job import default_group, job
from argosy.distributed.parallel import ParallelEnv, init_parallel_env, parallel_env
from argosy.foundation import env

__all__ = [
    "Group", "ReduceOp", "all_gather", "all_gather_object", "all_reduce", "alltoall",
    "alltoall_single", "barrier", "broadcast",
    "destroy_process_group", "get_group", "irecv", "is_available", "is_initialized", "isend",
    "new_group", "recv", "reduce",
    "reduce_scatter", "scatter", "send", "wait",
]  # fmt: skip


def is_available() -> bool:
    """Whether this build can communicate: always."""
    return True


def new_group(
    ranks: Any = None,
    backend: str | None = None,
    timeout: Any = None,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """Make a group of ``ranks`` (all without it). Every process of the job calls it, members or
    not, in the same order.

    ``timeout`` is a timedelta. The NCCL options only tune.
    """
    world = default_group("new_group")
    assert job.session is not None
    members = sorted(int(r) for r in ranks) if ranks is not None else world.ranks
    limit_s = None if timeout is None else timeout.total_seconds()
    group = job.session.new_group(members, None if backend == "auto" else backend, limit_s)
    job.groups[group.id] = group
    return group


def _init_parallel_env(backend: str) -> None:
    """Join the job with this backend; scripts that only run programs call it."""
    env.update({"PADDLE_DISTRI_BACKEND": backend})
    init_parallel_env()


# Scripts reach for these by their names in Paddle.


def _get_default_group() -> Group:
    """The group of all ranks."""
    return default_group("_get_default_group")


def _get_global_group() -> Group:
    """The group of all ranks; one of this process alone outside a job."""
    return job.world if job.world is not None else Group(0, 0, [0])


def _get_global_env() -> ParallelEnv:
    """The environment as it was when it was last read."""
    return parallel_env()


def _get_group_map() -> dict[int, Group]:
    """All groups of this process by their numbers."""
    return job.groups


def _get_group_map_by_name() -> dict[str, Group]:
    """All groups of this process by their names."""
    return {group.name: group for group in job.groups.values()}
