"""``paddle.distributed.communication.group``: groups and what is done to a whole one."""

from __future__ import annotations

import warnings

from argosy.distributed.communication import _programs
from argosy.distributed.communication._call import member_of
from argosy.distributed.job import NotInitialised, default_group, job
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.tensor.engine import Tensor

__all__ = [
    "Group",
    "barrier",
    "destroy_process_group",
    "get_backend",
    "get_group",
    "is_initialized",
    "wait",
]


def is_initialized() -> bool:
    """Whether ``init_parallel_env`` has joined a job."""
    return job.world is not None


def get_group(id: int = 0) -> Group | None:
    """The group that was made with this id; None with a warning if there is none."""
    if id not in job.groups and job.promised is not None:
        job.promised()
    if id not in job.groups:
        warnings.warn(f"Group {id} is not initialized.", stacklevel=2)
        return None
    return job.groups[id]


def get_backend(group: Group | None = None) -> str:
    """The name of the backend of ``group`` (all ranks without it), in capitals: SHM, GLOO, NCCL."""
    chosen = group if group is not None else default_group("get_backend")
    if not chosen.has_me:
        raise NotInitialised(
            f"get_backend: this process is not in group {chosen.name!r} (ranks {chosen.ranks})"
        )
    return chosen.backend


def destroy_process_group(group: Group | None = None) -> None:
    """Leave ``group``; without one, leave the job."""
    if group is None or group.id == 0:
        job.close()
    elif job.session is not None:
        job.groups.pop(group.id, None)
        job.session.drop(group)


def barrier(group: Group | None = None) -> None:
    """Wait until every rank of the group has called it."""
    chosen = group if group is not None else default_group("barrier")
    if not chosen.has_me:
        return
    if switch.is_static:
        _programs.barrier(chosen)
    else:
        chosen.run(chosen.transport.barrier)


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait for the collectives that this process has started on the group."""
    chosen = member_of("wait", group)
    if chosen is not None:
        chosen.run(lambda: None)
