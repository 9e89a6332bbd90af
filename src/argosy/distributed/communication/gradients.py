"""Collectives of programs through which gradients flow, as they do in Paddle 1.x.

The gradient of a sum over the ranks is the sum of their gradients; joining what the ranks have and
taking a part of their sum are each other's gradients.

Model parallelism (``fleet.layers.mpu``) has others: there all ranks compute the same loss, so the
gradient of what each of them has already is passed on as it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from argosy.distributed.communication import _programs
from argosy.foundation.errors import BadArgument
from argosy.ops.table import Op
from argosy.ops.traits import Rows
from argosy.runtime.comm.backend import ReduceOp
from argosy.tensor.engine import apply


def summed(x: Any, ring_id: int) -> Any:
    """``x`` of all ranks of the group, added."""
    return apply(_op("c_allreduce_sum", _Sum), x, ring_id)


def joined(x: Any, ring_id: int, nranks: int) -> Any:
    """The rows of ``x`` of all ranks, one after another."""
    return apply(_op("c_allgather", _Joined), x, ring_id, nranks)


def part_of_sum(x: Any, ring_id: int, nranks: int) -> Any:
    """This rank's part of the rows of ``x`` of all ranks, added."""
    return apply(_op("c_reducescatter", _Part), x, ring_id, nranks)


def copied(x: Any, ring_id: int) -> Any:
    """``x``, which all ranks have; its gradient is the sum of theirs."""
    return apply(_op("c_identity", _Copied), x, ring_id)


def reduced(x: Any, ring_id: int) -> Any:
    """``x`` of all ranks, added; the gradient, which all ranks have, is passed on."""
    return apply(_op("mp_allreduce_sum", _Reduced), x, ring_id)


def own_part(x: Any, ring_id: int, rank: int, nranks: int, axis: int) -> Any:
    """Part ``rank`` of ``x``, which all ranks have; their gradients are joined."""
    return apply(_op("c_split", _OwnPart), x, ring_id, rank, nranks, axis)


def all_parts(x: Any, ring_id: int, rank: int, nranks: int, axis: int) -> Any:
    """``x`` of all ranks, joined; of the gradient, which all ranks have, each takes its part."""
    return apply(_op("c_concat", _AllParts), x, ring_id, rank, nranks, axis)


@cache
def _op(kind: str, function: type[torch.autograd.Function]) -> Op:
    return Op(kind, function.apply, _PARAMETERS[kind], rows=Rows.OTHER)


_PARAMETERS = {
    "c_allreduce_sum": ("x", "ring_id"),
    "c_allgather": ("x", "ring_id", "nranks"),
    "c_reducescatter": ("x", "ring_id", "nranks"),
    "c_identity": ("x", "ring_id"),
    "mp_allreduce_sum": ("x", "ring_id"),
    "c_split": ("x", "ring_id", "rank", "nranks", "axis"),
    "c_concat": ("x", "ring_id", "rank", "nranks", "axis"),
}


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ring_id: int) -> torch.Tensor:
        ctx.ring_id = ring_id
        return _programs.all_reduced(x, ring_id, int(ReduceOp.SUM))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _programs.all_reduced(grads[0], ctx.ring_id, int(ReduceOp.SUM)), None


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ring_id: int, nranks: int) -> torch.Tensor:
        ctx.ring_id, ctx.nranks = ring_id, nranks
        return torch.cat(_programs.all_gathered(x, ring_id, nranks))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        total = int(ReduceOp.SUM)
        return _programs.reduce_scattered(grads[0], ctx.ring_id, ctx.nranks, total), None, None


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ring_id: int, nranks: int) -> torch.Tensor:
        ctx.group = ring_id, nranks
        return _programs.reduce_scattered(x, ring_id, nranks, int(ReduceOp.SUM))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return torch.cat(_programs.all_gathered(grads[0], *ctx.group)), None, None


class _Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ring_id: int) -> torch.Tensor:
        ctx.ring_id = ring_id
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _programs.all_reduced(grads[0], ctx.ring_id, int(ReduceOp.SUM)), None


class _Reduced(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ring_id: int) -> torch.Tensor:
        return _programs.all_reduced(x, ring_id, int(ReduceOp.SUM))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grads[0], None


class _OwnPart(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, ring_id: int, rank: int, nranks: int, axis: int
    ) -> torch.Tensor:
        ctx.group = ring_id, nranks, axis
        return _part(x, rank, nranks, axis)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None, None]:
        ring_id, nranks, axis = ctx.group
        whole = torch.cat(_programs.all_gathered(grads[0], ring_id, nranks), axis)
        return whole, None, None, None, None


class _AllParts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, ring_id: int, rank: int, nranks: int, axis: int
    ) -> torch.Tensor:
        ctx.part = rank, nranks, axis
        return torch.cat(_programs.all_gathered(x, ring_id, nranks), axis)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None, None]:
        return _part(grads[0], *ctx.part), None, None, None, None


def _part(x: torch.Tensor, rank: int, nranks: int, axis: int) -> torch.Tensor:
    if x.shape[axis] % nranks:
        raise BadArgument(
            f"axis {axis} of a tensor of shape {list(x.shape)} cannot be divided exactly among "
            f"{nranks} ranks"
        )
    return x.chunk(nranks, axis)[rank].clone(memory_format=torch.contiguous_format)
