"""``paddle.distributed.all_reduce``."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs
from argosy.distributed.communication._call import operation, prepare, start
from argosy.distributed.communication.reduce import ReduceOp
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["all_reduce"]


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Combine ``tensor`` of all ranks and leave the result in it on each."""
    raw, chosen = prepare("all_reduce", tensor, group)
    how = operation("all_reduce", op)
    if chosen is None:
        return None
    if switch.is_static:
        _programs.all_reduce(tensor, how, chosen)
        return None
    return start(chosen, sync_op, chosen.transport.all_reduce, raw, how)
