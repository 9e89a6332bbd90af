"""``paddle.distributed.send`` and ``isend``, and lists of objects."""

from __future__ import annotations

from typing import Any

import torch

from argosy.distributed.communication import _programs, objects
from argosy.distributed.communication._call import member_of, prepare
from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["isend", "send", "send_object_list"]


def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Hand ``tensor`` to global rank ``dst``, which must call ``recv``."""
    raw, chosen = prepare("send", tensor, group)
    if chosen is None:
        return None
    peer = chosen.rank_of(dst, "send")
    if peer == chosen.rank:
        raise UsageError(f"send: rank {dst} cannot send to itself")
    if switch.is_static:
        _programs.send(tensor, peer, chosen)
        return None
    return chosen.message("send", peer, not sync_op, chosen.transport.send, raw, peer)


def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Work | None:
    """``send`` without waiting."""
    return send(tensor, dst, group, sync_op=False)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group | None = None,
    dst_in_group: int | None = None,
) -> None:
    """Hand the objects to global rank ``dst``, or to rank ``dst_in_group`` of the group; it must
    call ``recv_object_list``.
    """
    objects.check_list("send_object_list", object_list)
    chosen = member_of("send_object_list", group)
    if chosen is None:
        return
    peer = objects.peer("send_object_list", chosen, dst, dst_in_group, "dst")
    call = chosen.transport.send
    data = objects.encode(object_list)
    chosen.message("send", peer, False, call, torch.tensor([data.numel()]), peer)
    chosen.message("send", peer, False, call, data, peer)
