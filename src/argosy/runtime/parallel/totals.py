"""Sums over ranks that gradients flow through."""

from __future__ import annotations

from typing import Any

import torch

from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group


class _Total(torch.autograd.Function):
    """Each rank's output depends on each rank's input, so the gradient is the sum of the ranks'
    gradients.
    """

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        total = part.detach().clone(memory_format=torch.contiguous_format)
        group.run(group.transport.all_reduce, total, ReduceOp.SUM)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return total(grad, ctx.group), None


def total(part: torch.Tensor, group: Group) -> torch.Tensor:
    """The sum of ``part`` over the ranks of ``group``; every rank calls it, and runs backward
    through it or does not, like the others.
    """
    return _Total.apply(part, group)  # type: ignore[no-untyped-call]
