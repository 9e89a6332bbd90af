"""``paddle.distributed.alltoall`` and ``alltoall_single``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.communication import _programs
from argosy.distributed.communication._call import (
    member_of,
    parts,
    prepare,
    raw_of,
    start,
    targets,
    then,
)
from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = ["alltoall", "alltoall_single"]


def alltoall(
    out_tensor_list: Any, in_tensor_list: Any, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Send the r-th tensor to rank r, and collect what the ranks sent here.

    Paddle 2.x has the lists in the other order: an empty one behind a list with tensors is the
    output.
    """
    chosen = member_of("alltoall", group)
    if chosen is None:
        return None
    if isinstance(in_tensor_list, list) and not in_tensor_list and out_tensor_list:
        out_tensor_list, in_tensor_list = in_tensor_list, out_tensor_list
    if switch.is_static:
        _programs.all_to_all(out_tensor_list, in_tensor_list, chosen)
        return None
    inputs = parts("alltoall", in_tensor_list, chosen.nranks)
    if not inputs:
        raise UsageError("alltoall: the input tensor list must not be empty")
    outputs, after = targets("alltoall", out_tensor_list, inputs[0], chosen.nranks)
    return start(chosen, sync_op, then(chosen.transport.all_to_all, after), outputs, inputs)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """As ``alltoall`` on slices of one tensor along its first axis; sizes may differ by rank."""
    target = raw_of("alltoall_single", out_tensor, "out_tensor")
    source, chosen = prepare("alltoall_single", in_tensor, group, "in_tensor")
    if chosen is None:
        return None
    outputs = _split(target, out_split_sizes, chosen.nranks, "out_tensor")
    inputs = _split(source, in_split_sizes, chosen.nranks, "in_tensor")
    return start(chosen, sync_op, chosen.transport.all_to_all, outputs, inputs)


def _split(
    raw: torch.Tensor, sizes: Sequence[int] | None, count: int, argument: str
) -> list[torch.Tensor]:
    if sizes is None:
        if raw.shape[0] % count:
            raise UsageError(
                f"alltoall_single: {argument} has {raw.shape[0]} rows, which {count} ranks "
                "cannot share equally; pass split sizes"
            )
        return list(torch.split(raw, raw.shape[0] // count)) if raw.shape[0] else [raw] * count
    if len(sizes) != count or sum(sizes) != raw.shape[0]:
        raise UsageError(
            f"alltoall_single: split sizes {list(sizes)} must be {count} numbers that add up to "
            f"the {raw.shape[0]} rows of {argument}"
        )
    return list(torch.split(raw, list(sizes)))
