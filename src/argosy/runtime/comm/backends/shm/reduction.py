"""Combining the buffers of all ranks into one tensor, for every dtype."""

from __future__ import annotations

import torch

from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.backends.shm import kernels

# truth values are bytes of 0 and 1 here: "any" is their maximum, "all" their minimum
_OP_FOR_BOOL = {ReduceOp.SUM: ReduceOp.MAX, ReduceOp.PROD: ReduceOp.MIN}


def operation_for(op: ReduceOp, dtype: torch.dtype) -> ReduceOp:
    """The operation on the bytes in the buffers that means ``op`` for tensors of ``dtype``."""
    return _OP_FOR_BOOL.get(op, op) if dtype is torch.bool else op


def combine(slots: torch.Tensor, start: int, out: torch.Tensor, op: ReduceOp) -> None:
    """Combine columns [start, start + len(out)) of all rows into ``out``, in rank order.

    Halves are combined in float32 and rounded once. A mean is the sum divided by the number of rows; integers are cut off towards 0.
    """
    if out.dtype in (torch.float16, torch.bfloat16):
        wide = torch.empty(out.shape, dtype=torch.float32)
        _combine(slots[:, start : start + out.numel()].float(), 0, wide, op)
        out.copy_(wide)
    else:
        _combine(slots, start, out, op)


def _combine(slots: torch.Tensor, start: int, out: torch.Tensor, op: ReduceOp) -> None:
    over_ranks = ReduceOp.SUM if op is ReduceOp.AVG else op
    if out.is_complex():
        _combine_complex(slots[:, start : start + out.numel()], out, over_ranks)
    else:
        kernels.combine(slots.numpy(), start, out.numpy(), int(over_ranks))
    if op is ReduceOp.AVG:
        if out.is_floating_point() or out.is_complex():
            out.div_(slots.shape[0])
        else:
            out.div_(slots.shape[0], rounding_mode="trunc")


def _combine_complex(rows: torch.Tensor, out: torch.Tensor, op: ReduceOp) -> None:
    out.copy_(rows[0])
    for row in rows[1:]:
        if op is ReduceOp.SUM:
            out.add_(row)
        else:
            out.mul_(row)
