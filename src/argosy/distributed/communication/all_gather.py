"""``paddle.distributed.all_gather``, of tensors and of objects."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs, objects
from argosy.distributed.communication._call import member_of, prepare, start, targets, then
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["all_gather", "all_gather_object"]


def all_gather(
    tensor_list: Any, tensor: Tensor, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Collect ``tensor`` of all ranks, in rank order, in ``tensor_list`` (an empty list is
    filled).
    """
    raw, chosen = prepare("all_gather", tensor, group)
    if chosen is None:
        return None
    if switch.is_static:
        _programs.all_gather(tensor_list, tensor, chosen)
        return None
    outputs, after = targets("all_gather", tensor_list, raw, chosen.nranks)
    return start(chosen, sync_op, then(chosen.transport.all_gather, after), outputs, raw)


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """Append the ``obj`` of every rank, in rank order, to ``object_list``."""
    chosen = member_of("all_gather_object", group)
    if chosen is not None:
        every = objects.exchange(chosen, obj)
        object_list.extend(objects.decode("all_gather_object", data) for data in every)
