"""Sums over ranks that gradients flow through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group

Adder = Callable[[torch.Tensor], torch.Tensor]


class _Total(torch.autograd.Function):
    """Each one's output depends on each one's input, so gradients are summed alike."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, add: Adder) -> torch.Tensor:
        ctx.add = add
        return add(part.detach())

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return total_by(ctx.add, grad), None


def total_by(add: Adder, part: torch.Tensor) -> torch.Tensor:
    """``add(part)``, a sum over those who all call it with a part of theirs; all of them run
    backward through it, or none.
    """
    return _Total.apply(part, add)  # type: ignore[no-untyped-call]


def total(part: torch.Tensor, group: Group) -> torch.Tensor:
    """The sum of ``part`` over the ranks of ``group``."""

    def add(own: torch.Tensor) -> torch.Tensor:
        whole = own.clone(memory_format=torch.contiguous_format)
        group.run(group.transport.all_reduce, whole, ReduceOp.SUM)
        return whole

    return total_by(add, part)
