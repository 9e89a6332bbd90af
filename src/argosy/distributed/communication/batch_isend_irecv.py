"""``paddle.distributed.batch_isend_irecv``: several messages at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.distributed.communication._call import CallError
from argosy.distributed.communication.recv import irecv
from argosy.distributed.communication.send import isend
from argosy.foundation.errors import OutOfRange
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["P2POp", "batch_isend_irecv"]


class P2POp:
    """One message for ``batch_isend_irecv``: ``op`` is ``isend`` or ``irecv``."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int, group: Group | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise CallError(
                "P2POp: op must be paddle.distributed.isend or paddle.distributed.irecv"
            )
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start a batch of messages, in the order of the list, and return their tasks."""
    if not isinstance(p2p_op_list, list) or not all(
        isinstance(item, P2POp) for item in p2p_op_list
    ):
        raise CallError("batch_isend_irecv: expected a list of P2POp")
    if not p2p_op_list:
        raise OutOfRange("batch_isend_irecv: the list must not be empty")
    tasks = [item.op(item.tensor, item.peer, item.group) for item in p2p_op_list]
    return [task for task in tasks if task is not None]
