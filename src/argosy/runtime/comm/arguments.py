"""What every backend checks before a collective starts, so that all of them refuse the same calls
with the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError

if TYPE_CHECKING:
    from argosy.runtime.comm.backend import ReduceOp


def check_root(kind: str, role: str, root: int, world_size: int) -> None:
    """``root`` must be a rank of the group; ``role`` is the argument's name."""
    if not 0 <= root < world_size:
        raise UsageError(
            f"{kind}: {role} must be a rank of the group, 0 to {world_size - 1}, but is {root}"
        )


def check_peer(kind: str, role: str, peer: int, rank: int, world_size: int) -> None:
    """``peer`` must be another rank of the group."""
    check_root(kind, role, peer, world_size)
    if peer == rank:
        raise UsageError(f"{kind}: {role} is rank {rank} itself; a rank cannot send to itself")


def check_reducible(kind: str, op: ReduceOp, dtype: torch.dtype) -> None:
    """There must be a reduction ``op`` for ``dtype``.

    For bool, SUM and MAX mean "any", PROD and MIN mean "all"; a mean of truth values is not one.
    Bits are combined in integers and truth values alone.
    """
    if op.name in ("BAND", "BOR", "BXOR"):
        allowed = not dtype.is_floating_point and not dtype.is_complex
    elif dtype.is_complex:
        allowed = op.name in ("SUM", "PROD", "AVG")
    elif dtype is torch.bool:
        allowed = op.name != "AVG"
    else:
        allowed = dtype.itemsize > 1 or not dtype.is_floating_point
    if not allowed:
        raise UsageError(f"{kind}: {op.name} is not defined for {dtypes.name_of(dtype)}")


def check_parts(
    kind: str, parts: Sequence[torch.Tensor], like: torch.Tensor, world_size: int
) -> None:
    """``parts`` must be one tensor per rank, each with as many elements as ``like`` and of its
    dtype.
    """
    if len(parts) != world_size:
        raise UsageError(
            f"{kind}: {world_size} ranks need a list of {world_size} tensors, but received "
            f"{len(parts)}"
        )
    for r, part in enumerate(parts):
        if part.numel() != like.numel() or part.dtype is not like.dtype:
            raise UsageError(
                f"{kind}: the tensor of rank {r} in the list is {describe(part)}, the other "
                f"tensor {describe(like)}; "
                "they must be equal"
            )


def check_exchange(
    outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], world_size: int
) -> None:
    """The lists of an all_to_all must have one tensor per rank, all of one dtype."""
    n = world_size
    if len(outputs) != n or len(inputs) != n:
        raise UsageError(
            f"all_to_all: {n} ranks need {n} inputs and {n} outputs, but received {len(inputs)} "
            f"and {len(outputs)}"
        )
    found = {t.dtype for t in (*inputs, *outputs)}
    if len(found) > 1:
        names = ", ".join(sorted(dtypes.name_of(d) for d in found))
        raise UsageError(f"all_to_all: all tensors must have one dtype, but received {names}")


def describe(tensor: torch.Tensor) -> str:
    """Dtype and number of elements, as the messages show tensors: ``float32[1024]``."""
    return f"{dtypes.name_of(tensor.dtype)}[{tensor.numel()}]"
