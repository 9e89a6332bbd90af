"""The text of ``backward`` operators, and what it calls: torch's own gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from argosy.static.ir.operator import Operator
from argosy.static.ir.rows import dense
from argosy.static.ir.variable import Variable

if TYPE_CHECKING:
    from argosy.static.lower.emitter import Emitter


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
    weights = seeds or [None] * len(targets)
    # Some ops (floor, comparisons) give results without a graph.
    live = [
        (t, torch.ones_like(t) if w is None else w)
        for t, w in zip(targets, weights, strict=True)
        if t.requires_grad
    ]
    if not live:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(
        [t for t, _ in live],
        inputs,
        [w for _, w in live],
        retain_graph=keeps_graph,
        create_graph=is_twice,
        allow_unused=True,
    )
    return [
        torch.zeros_like(x) if g is None else g if i in rows else dense(g)
        for i, (x, g) in enumerate(zip(inputs, found, strict=True))
    ]


def unshared(value: torch.Tensor) -> torch.Tensor:
    """A value that the updates of parameters after it do not change."""
    return value.clone() if value._is_view() or value.is_leaf else value


def excluded_names(operators: Sequence[Operator]) -> set[str]:
    """The variables that some backward operator lets no gradient pass."""
    inner = [o for operator in operators for block in operator.sub_blocks for o in block.ops]
    own = {name for o in operators if o.type == "backward" for name in o.kwargs.get("no_grad", ())}
    return own | excluded_names(inner) if inner else own


def emit_backward(emitter: Emitter, index: int, operator: Operator) -> None:
    pairs = emitter.uses.wanted_gradients(index)
    if not pairs:
        return
    is_last = emitter.is_last_backward(index)
    inputs = "".join(f"{emitter.local(x)}, " for x, _ in pairs)
    outputs = "".join(f"{emitter.local(g)}, " for _, g in pairs)
    targets, seeds = emitter.expression(operator.args[0]), emitter.expression(operator.args[2])
    rows = tuple(i for i, (_, g) in enumerate(pairs) if g in emitter.rows)
    kept = f", rows={rows}" if rows else ""
    emitter.lines.append(
        f"[{outputs}] = gradients_of({targets}, [{inputs}], {seeds}, {not is_last}, "
        f"{not is_last}{kept})"
    )
