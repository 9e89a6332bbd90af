"""``paddle.distributed.gather``, of tensors and of objects."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import objects
from argosy.distributed.communication._call import member_of, prepare, start, targets, then
from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["gather", "gather_object"]


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Collect ``tensor`` of all ranks in ``gather_list`` of global rank ``dst``."""
    raw, chosen = prepare("gather", tensor, group)
    if chosen is None:
        return None
    root = chosen.rank_of(dst, "gather")
    if chosen.rank != root:
        return start(chosen, sync_op, chosen.transport.gather, None, raw, root)
    wanted = [] if gather_list is None else gather_list
    outputs, after = targets("gather", wanted, raw, chosen.nranks)
    return start(chosen, sync_op, then(chosen.transport.gather, after), outputs, raw, root)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: Group | None = None
) -> None:
    """Append the ``obj`` of every rank to ``object_gather_list`` of global rank ``dst``."""
    chosen = member_of("gather_object", group)
    if chosen is None:
        return
    is_root = chosen.rank == chosen.rank_of(dst, "gather_object")
    if is_root and object_gather_list is None:
        raise UsageError(f"gather_object: rank {dst} receives and must pass object_gather_list")
    every = objects.exchange(chosen, obj)
    if is_root and object_gather_list is not None:
        object_gather_list.extend(objects.decode("gather_object", data) for data in every)
