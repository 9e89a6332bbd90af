"""``paddle.distributed.reduce``, and how values are combined."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs
from argosy.distributed.communication._call import operation, prepare, start
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["ReduceOp", "reduce"]


class ReduceOp:
    """How the values of the ranks are combined."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


def reduce(
    tensor: Tensor,
    dst: int,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Combine ``tensor`` of all ranks into that of global rank ``dst``; the others keep theirs."""
    raw, chosen = prepare("reduce", tensor, group)
    how = operation("reduce", op)
    if chosen is None:
        return None
    root = chosen.rank_of(dst, "reduce")
    if switch.is_static:
        _programs.reduce(tensor, root, how, chosen)
        return None
    return start(chosen, sync_op, chosen.transport.reduce, raw, root, how)
