"""``paddle.distributed.collective``: the older module path of groups and collectives."""

from argosy.distributed._collectives import (
    ReduceOp,
    all_gather,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    broadcast,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    wait,
)
from argosy.distributed._default import (
    default_group,
    destroy_process_group,
    get_group,
    is_initialized,
    new_group,
)
from argosy.distributed._objects import all_gather_object
from argosy.runtime.comm.group import Group

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


def _get_default_group() -> Group:
    """The group of all ranks; scripts reach for it by this name."""
    return default_group("_get_default_group")
