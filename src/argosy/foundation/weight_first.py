"""A linear map whose weight's gradient is complete before that of its input is begun.

One node of the graph hands out both gradients together. Here they have a node each, and the
engine runs that of the weight first, then whatever waits for it, and that of the input at last: a
gradient that goes to another host is on its way while the input's is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Linear = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
# of the gradient of the output, the input and the weight; None if somebody else will make it
Gradient = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor | None]


def weight_first(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    linear: Linear,
    of_x: Gradient,
    of_weight: Gradient,
) -> torch.Tensor:
    """``linear(x, weight, bias)``; ``of_x`` and ``of_weight`` compute the gradients of two of them,
    that of ``bias`` is a sum over all axes but the last.
    """
    # lists, so that the graph does not lead from a node to what the other one is for
    out = _OfX.apply(x, [weight, bias], linear, of_x)  # type: ignore[no-untyped-call]
    return _OfWeight.apply(out, weight, bias, [x], of_weight)  # type: ignore[no-untyped-call]


class _OfX(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, others: list[Any], linear: Linear, of_x: Gradient
    ) -> torch.Tensor:
        weight, bias = others
        ctx.save_for_backward(x, weight)
        ctx.of_x = of_x
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return ctx.of_x(grad, *ctx.saved_tensors), None, None, None


class _OfWeight(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        out: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        others: list[torch.Tensor],
        of_weight: Gradient,
    ) -> torch.Tensor:
        ctx.save_for_backward(*others, weight)
        ctx.of_weight = of_weight
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        _, wants_weight, wants_bias, *_ = ctx.needs_input_grad
        of_weight = ctx.of_weight(grad, *ctx.saved_tensors) if wants_weight else None
        of_bias = grad.reshape(-1, grad.shape[-1]).sum(0) if wants_bias else None
        return grad, of_weight, of_bias, None, None
