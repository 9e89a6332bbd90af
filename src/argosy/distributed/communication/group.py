"""``paddle.distributed.communication.group``: groups and what is done to a whole one."""

from argosy.distributed._collectives import barrier, wait
from argosy.distributed._default import (
    destroy_process_group,
    get_backend,
    get_group,
    is_initialized,
)
from argosy.runtime.comm.group import Group

__all__ = [
    "Group",
    "barrier",
    "destroy_process_group",
    "get_backend",
    "get_group",
    "is_initialized",
    "wait",
]
