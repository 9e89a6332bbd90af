"""Linear layers of a torch module whose weight gradients are written straight into their bucket.

torch's own linear computes the gradient of its weight into fresh memory, from which the reducer
would have to copy it. While a wrapped module runs forward, its large ``torch.nn.Linear`` layers run
the function below, which computes the same numbers and lets the product write where the reducer
wants it. Outside of that forward the layers are as they were.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation import gradients
from argosy.foundation import torch_private as private


class _LinearAtHome(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        flat = grad.reshape(-1, grad.shape[-1])
        grad_x = (flat @ weight).view(x.shape) if ctx.needs_input_grad[0] else None
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = gradients.product(weight, flat.t(), x.reshape(-1, x.shape[-1]))
        return grad_x, grad_weight, flat.sum(0) if ctx.needs_input_grad[2] else None


def _forward(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    weight = layer.weight
    if (
        weight.requires_grad
        and gradients.home_of(weight) is not None
        and torch.is_grad_enabled()
        and x.dtype is weight.dtype
        and x.layout is torch.strided
        and x.ndim > 1
        and not torch.is_autocast_enabled(x.device.type)
        and not private.is_transformed()
    ):
        return _LinearAtHome.apply(x, weight, layer.bias)  # type: ignore[no-untyped-call]
    return torch.nn.functional.linear(x, weight, layer.bias)


class LinearsAtHome:
    """The layers of ``module`` whose weights have a home."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._forwards: Sequence[tuple[dict[str, Any], Callable[..., Any]]] = [
            (layer.__dict__, functools.partial(_forward, layer))
            for layer in module.modules()
            # a subclass, or a layer that somebody has changed, computes something else
            if type(layer) is torch.nn.Linear
            and "forward" not in layer.__dict__
            and gradients.home_of(layer.weight) is not None
        ]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Inside the block the layers run the function above."""
        if torch.compiler.is_compiling():  # the compiler has its own ways, and follows no patches
            yield
            return
        for attributes, forward in self._forwards:
            attributes["forward"] = forward
        try:
            yield
        finally:
            for attributes, _ in self._forwards:
                attributes.pop("forward", None)
