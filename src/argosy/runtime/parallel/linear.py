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
from argosy.foundation.weight_first import weight_first


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
        wants_x, wants_weight, wants_bias = ctx.needs_input_grad
        return (
            _gradient_of_x(grad, x, weight) if wants_x else None,
            _gradient_of_weight(grad, x, weight) if wants_weight else None,
            _rows(grad).sum(0) if wants_bias else None,
        )


def _gradient_of_x(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (_rows(grad) @ weight).view(x.shape)


def _gradient_of_weight(
    grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor | None:
    return gradients.product(weight, _rows(grad).t(), _rows(x))


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1])


def _forward(layer: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    weight = layer.weight
    home = gradients.home_of(weight)
    if (
        home is not None
        and weight.requires_grad
        and torch.is_grad_enabled()
        and x.dtype is weight.dtype
        and x.layout is torch.strided
        and x.ndim > 1
        and not torch.is_autocast_enabled(x.device.type)
        and not private.is_transformed()
    ):
        if home.is_urgent and x.requires_grad:
            linear = torch.nn.functional.linear
            return weight_first(x, weight, layer.bias, linear, _gradient_of_x, _gradient_of_weight)
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
