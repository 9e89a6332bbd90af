"""``paddle.distributed.scatter``, of tensors and of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.distributed.communication import _programs, objects
from argosy.distributed.communication._call import member_of, parts, prepare, start
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["scatter", "scatter_object_list"]


def scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Give each rank its part of ``tensor_list`` of global rank ``src``, in ``tensor``."""
    raw, chosen = prepare("scatter", tensor, group)
    if chosen is None:
        return None
    root, inputs = chosen.rank_of(src, "scatter"), None
    if switch.is_static:
        _programs.scatter(tensor, tensor_list, root, chosen)
        return None
    if chosen.rank == root and tensor_list is not None:
        inputs = parts("scatter", tensor_list, chosen.nranks)
    return start(chosen, sync_op, chosen.transport.scatter, raw, inputs, root)


def scatter_object_list(
    out_object_list: list[Any],
    in_object_list: list[Any] | None = None,
    src: int = 0,
    group: Group | None = None,
) -> None:
    """Make ``out_object_list`` hold this rank's element of ``in_object_list`` of global rank
    ``src``.
    """
    call = "scatter_object_list"
    chosen = member_of(call, group)
    if chosen is None:
        return
    root = chosen.rank_of(src, call)
    if chosen.rank == root and (in_object_list is None or len(in_object_list) != chosen.nranks):
        raise UsageError(
            f"scatter_object_list: rank {src} must pass a list of {chosen.nranks} objects, one "
            "for each rank"
        )
    received = objects.broadcast(call, chosen, root, in_object_list)
    if len(received) != chosen.nranks:
        raise CheckpointError(
            f"scatter_object_list: rank {src} sent {len(received)} objects to {chosen.nranks} ranks"
        )
    out_object_list[:] = [received[chosen.rank]]
