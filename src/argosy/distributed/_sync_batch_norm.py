"""What SyncBatchNorm needs from the job: sums over all ranks that gradients flow through."""

from __future__ import annotations

from typing import Any

import torch

from argosy.nn import SyncBatchNorm
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group
from argosy.tensor._tensor import Tensor, _wrap

__all__ = ["install", "uninstall"]


class _Total(torch.autograd.Function):
    """The sum over the ranks of ``group``. Each rank's output depends on each rank's input, so the gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return _sum(part, group)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _Total.apply(grad, ctx.group), None  # type: ignore[no-untyped-call]


def _sum(part: torch.Tensor, group: Group) -> torch.Tensor:
    total = part.detach().clone(memory_format=torch.contiguous_format)
    group.run(group.backend.all_reduce, total, ReduceOp.SUM)
    return total


def install(group: Group) -> None:
    """Make every SyncBatchNorm take its statistics over ``group``."""

    def reduce_moments(moments: Tensor) -> Tensor:
        return _wrap(_Total.apply(moments._t, group))  # type: ignore[no-untyped-call]

    SyncBatchNorm.reduce_moments = reduce_moments


def uninstall() -> None:
    """Leave each rank alone with its own statistics."""
    SyncBatchNorm.reduce_moments = None
