"""``paddle.distributed.broadcast``, of tensors and of objects."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs, objects
from argosy.distributed.communication._call import member_of, prepare, start
from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["broadcast", "broadcast_object_list"]


def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Copy the ``tensor`` of global rank ``src`` to all ranks."""
    raw, chosen = prepare("broadcast", tensor, group)
    if chosen is None:
        return None
    root = chosen.rank_of(src, "broadcast")
    if switch.is_static:
        _programs.broadcast(tensor, root, chosen)
        return None
    return start(chosen, sync_op, chosen.transport.broadcast, raw, root)


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """Replace the contents of ``object_list`` by those of global rank ``src``; the lengths must be
    equal.
    """
    call = "broadcast_object_list"
    objects.check_list(call, object_list)
    chosen = member_of(call, group)
    if chosen is None:
        return
    root = chosen.rank_of(src, call)
    received = objects.broadcast(call, chosen, root, object_list)
    if len(received) != len(object_list):
        raise UsageError(
            f"broadcast_object_list: rank {src} passed {len(received)} objects, this rank a list "
            f"of {len(object_list)}"
        )
    if chosen.rank != root:
        object_list[:] = received
