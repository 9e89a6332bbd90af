"""``paddle.distributed.recv`` and ``irecv``, and lists of objects."""

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

__all__ = ["irecv", "recv", "recv_object_list"]


def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Fill ``tensor`` with what global rank ``src`` sends."""
    raw, chosen = prepare("recv", tensor, group)
    if chosen is None:
        return None
    peer = chosen.rank_of(src, "recv")
    if peer == chosen.rank:
        raise UsageError(f"recv: rank {src} cannot receive from itself")
    if switch.is_static:
        _programs.recv(tensor, peer, chosen)
        return None
    return chosen.message("recv", peer, not sync_op, chosen.transport.recv, raw, peer)


def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Work | None:
    """``recv`` without waiting."""
    return recv(tensor, 0 if src is None else src, group, sync_op=False)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group | None = None,
    src_in_group: int | None = None,
) -> int | None:
    """Replace the contents of ``object_list`` by what global rank ``src`` (or ``src_in_group``)
    sends; returns the sender's global rank.
    """
    objects.check_list("recv_object_list", object_list)
    chosen = member_of("recv_object_list", group)
    if chosen is None:
        return None
    peer = objects.peer("recv_object_list", chosen, src, src_in_group, "src")
    call = chosen.transport.recv
    size = torch.zeros(1, dtype=torch.int64)
    chosen.message("recv", peer, False, call, size, peer)
    data = objects.buffer(size)
    chosen.message("recv", peer, False, call, data, peer)
    received = objects.decode_list("recv_object_list", data)
    if len(received) != len(object_list):
        raise UsageError(
            f"recv_object_list: {len(received)} objects were sent, but the list has "
            f"{len(object_list)}"
        )
    object_list[:] = received
    return chosen.ranks[peer]
