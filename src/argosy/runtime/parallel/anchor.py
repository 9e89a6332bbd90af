"""Outputs that depend on no parameter, yet must take part in backward.

A rank whose control flow skips every parameter returns outputs that need no gradient: its
``backward()`` would do nothing while the other ranks wait for it. Such outputs are tied to a leaf
of our own, whose gradient says that backward has come by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class _Tie(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad.new_zeros((), dtype=torch.float32), None


class Anchor:
    """Calls ``when_reached`` in every backward that comes from a tensor made by ``tie``."""

    def __init__(self, when_reached: Callable[[], None]) -> None:
        def reached(leaf: torch.Tensor) -> None:
            leaf.grad = None
            when_reached()

        self._leaf = torch.zeros((), requires_grad=True)
        self._leaf.register_post_accumulate_grad_hook(reached)  # type: ignore[no-untyped-call]

    def tie(self, value: torch.Tensor) -> torch.Tensor:
        """The same values, differentiable."""
        return _Tie.apply(self._leaf, value)  # type: ignore[no-untyped-call]


def map_tensors(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """``value`` with every tensor of ``kind`` in plain lists, tuples and dicts replaced by
    ``change(tensor)``.
    """
    if isinstance(value, kind):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(map_tensors(item, kind, change) for item in value)
    if type(value) is dict:
        return {key: map_tensors(item, kind, change) for key, item in value.items()}
    return value


def tensors_in(value: Any, kind: type) -> list[Any]:
    """The tensors of ``kind`` in what a forward returned."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors_in(item, kind)]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_in(item, kind)]
    return []
