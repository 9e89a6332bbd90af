"""Combining the buffers of all ranks into one tensor, for every dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.runtime.comm.backend import STEP_BY_OP, ReduceOp
from argosy.runtime.comm.backends.shm.compiled import kernels

HAS_KERNEL = (torch.float32, torch.float64)
_NO_MEMORY = np.empty(0, np.uint8)
# truth values are bytes of 0 and 1 here: "any" is their maximum, "all" their minimum
_OP_FOR_BOOL = {ReduceOp.SUM: ReduceOp.MAX, ReduceOp.PROD: ReduceOp.MIN}


def operation_for(op: ReduceOp, dtype: torch.dtype) -> ReduceOp:
    """The operation on the bytes in the buffers that means ``op`` for tensors of ``dtype``."""
    return _OP_FOR_BOOL.get(op, op) if dtype is torch.bool else op


@dataclass(frozen=True, eq=False)
class Rows:
    """The buffers of all ranks for one step, in one dtype: as a tensor [world_size, elements], and
    as the flat memory around them.

    Row r begins at element ``first + r * stride`` of ``memory``, which is empty for dtypes that
    have no kernel.
    """

    tensor: torch.Tensor
    memory: npt.NDArray[Any]
    first: int
    stride: int

    @classmethod
    def of(cls, slots: torch.Tensor, parity: int, dtype: torch.dtype) -> Rows:
        """View the buffers of one parity; ``slots`` is the memory of all, [world_size, 2,
        bytes].
        """
        typed = slots.view(dtype)
        elements = typed.shape[2]
        memory = typed.view(-1).numpy() if dtype in HAS_KERNEL else _NO_MEMORY
        return cls(typed[:, parity], memory, parity * elements, 2 * elements)


def combine(rows: Rows, start: int, out: torch.Tensor, op: ReduceOp) -> None:
    """Combine columns [start, start + len(out)) of all rows into ``out``, in rank order.

    Halves are combined in float32 and rounded once. A mean is the sum divided by the number of
    rows; integers are cut off towards 0.
    """
    n = rows.tensor.shape[0]
    if out.dtype in HAS_KERNEL and n > 1 and op in (ReduceOp.SUM, ReduceOp.AVG):
        kernels.sum_rows(rows.memory, rows.first + start, rows.stride, n, out.numpy())
        if op is ReduceOp.AVG:
            out.div_(n)
        return
    parts = rows.tensor[:, start : start + out.numel()].unbind(0)
    if out.dtype in (torch.float16, torch.bfloat16):
        wide = parts[0].float()
        _combine_into(wide, parts[1:], op)
        out.copy_(wide)
    else:
        out.copy_(parts[0])
        _combine_into(out, parts[1:], op)


def _combine_into(out: torch.Tensor, others: Sequence[torch.Tensor], op: ReduceOp) -> None:
    step = STEP_BY_OP[op]
    for other in others:
        step(out, other, out=out)
    if op is ReduceOp.AVG:
        if out.is_floating_point() or out.is_complex():
            out.div_(len(others) + 1)
        else:
            out.div_(len(others) + 1, rounding_mode="trunc")
