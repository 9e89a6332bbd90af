"""Gradients in a run, which are torch's own, and what operators have to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import NotSupported
from argosy.static.ir.block import Block
from argosy.static.ir.operator import OPTIMIZE, Operator
from argosy.static.ir.variable import Variable


def is_differentiable(variable: Variable) -> bool:
    dtype = variable.raw.dtype
    return not variable.stop_gradient and (dtype.is_floating_point or dtype.is_complex)


def gradients_of(
    targets: list[torch.Tensor],
    inputs: list[torch.Tensor],
    seeds: Any,
    keeps_graph: bool,
    is_twice: bool,
    rows: Sequence[int] = (),
) -> list[torch.Tensor]:
    """Gradients of the sum of ``targets``, weighted by ``seeds`` or ones; zeros for inputs that
    they do not depend on.

    Those at the positions ``rows`` may be row-sparse.
    """
    # Plain loops: a frame each would be a tenth of the cost of a small program.
    live: list[torch.Tensor] = []
    weights: list[torch.Tensor | None] = []
    for target, seed in zip(targets, seeds or [None] * len(targets), strict=True):
        if target.requires_grad:  # some ops (floor, comparisons) give results without a graph
            live.append(target)
            if seed is None and (target.numel() != 1 or target.is_complex()):
                seed = torch.ones_like(target)
            weights.append(seed)  # torch makes the one of a number, and loads sympy to look at ours
    found: Sequence[torch.Tensor | None] = [None] * len(inputs)
    if live:
        found = torch.autograd.grad(
            live,
            inputs,
            weights,
            retain_graph=keeps_graph,
            create_graph=is_twice,
            allow_unused=True,
        )
    gradients: list[torch.Tensor] = []
    for i, grad in enumerate(found):
        if grad is None:
            grad = torch.zeros_like(inputs[i])
        elif grad.is_sparse and i not in rows:
            grad = grad.to_dense()
        gradients.append(grad)
    return gradients


def tracked(value: torch.Tensor) -> torch.Tensor:
    """A value of which gradients can be taken: where none flows through it, as through the result
    of ``zeros_like``, they end at it.
    """
    return value if value.requires_grad else value.detach().requires_grad_().clone()


def unshared(value: Any) -> Any:
    """A value that the updates of parameters after it do not change; it may be an array of
    values, or None.
    """
    if not isinstance(value, torch.Tensor):
        return [unshared(element) for element in value] if isinstance(value, list) else value
    return value.clone() if value._is_view() or value.is_leaf else value


def excluded_names(operators: Sequence[Operator]) -> set[str]:
    """The variables that some backward operator lets no gradient pass."""
    inner = [o for operator in operators for block in operator.sub_blocks for o in block.ops]
    own = {name for o in operators if o.takes_gradients for name in o.kwargs.get("no_grad", ())}
    return own | excluded_names(inner) if inner else own


def has_backward(operator: Operator) -> bool:
    """Whether an operator takes gradients, itself or in its blocks."""
    return operator.takes_gradients or any(
        has_backward(o) for block in operator.sub_blocks for o in block.ops
    )


def require_outer_backward(operators: Sequence[Operator]) -> None:
    """Refuse gradients that are taken inside of blocks: places that combine theirs could take
    different branches.
    """
    for operator in operators:
        if not operator.takes_gradients and has_backward(operator):
            raise NotSupported(
                f"a data-parallel run: {operator.describe()} takes gradients inside of its "
                "blocks, where several places cannot "
                "combine them; return the loss from there and call minimize() outside"
            )


def switches_gradients(block: Block) -> bool:
    """Whether the operators of a block do not all run with gradients on, or all off."""
    return any(
        has_backward(o)
        or o.role == OPTIMIZE
        or any(switches_gradients(inner) for inner in o.sub_blocks)
        for o in block.ops
    )
