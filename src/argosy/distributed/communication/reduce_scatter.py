"""``paddle.distributed.reduce_scatter``."""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import _programs
from argosy.distributed.communication._call import operation, parts, prepare, start
from argosy.distributed.communication.reduce import ReduceOp
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["reduce_scatter"]


def reduce_scatter(
    tensor: Tensor,
    tensor_list: Any,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Combine the lists of all ranks element by element and leave each rank its part in
    ``tensor``.
    """
    raw, chosen = prepare("reduce_scatter", tensor, group)
    how = operation("reduce_scatter", op)
    if chosen is None:
        return None
    if switch.is_static:
        _programs.reduce_scatter(tensor, tensor_list, how, chosen)
        return None
    inputs = parts("reduce_scatter", tensor_list, chosen.nranks)
    return start(chosen, sync_op, chosen.transport.reduce_scatter, raw, inputs, how)


def _reduce_scatter_base(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """``reduce_scatter`` of one tensor; scripts reach for it by this name."""
    return reduce_scatter(output, input, op, group, sync_op)
