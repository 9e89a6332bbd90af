"""Layers that are made without memory for their parameters, which are filled later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import BadArgument
from argosy.foundation.process_state import Held
from argosy.tensor.engine import Parameter, defaults

__all__ = ["LazyGuard"]

is_lazy: Held[bool] = Held("lazy parameters", False)


class LazyParameter(Parameter):
    """A parameter without memory, until ``initialize`` or ``set_value`` gives it some."""

    __slots__ = ()

    fill: Callable[[Any], Any] | None  # what initialises it; None when it has

    def initialize(self) -> None:
        """Give it memory and the values that its initialiser makes; once."""
        fill = self.fill
        if fill is None:
            raise BadArgument(f"Parameter.initialize: {self.name!r} has been initialized already")
        self._take_memory()
        is_frozen, self.stop_gradient = self.stop_gradient, True
        fill(self)
        self.stop_gradient, self.fill = is_frozen, None

    def set_value(self, value: Any) -> None:
        """Give it memory, if it has none, and the values of ``value``."""
        self._take_memory()
        plain: Any = super()  # methods are put on the class when they are loaded
        plain.set_value(value)

    def _take_memory(self) -> None:
        raw = self.raw
        if raw.is_meta:
            made = torch.empty_like(raw, device=defaults.device)
            self.raw = made.requires_grad_(raw.requires_grad)

    def _is_initialized(self) -> bool:
        return not self.raw.is_meta


def lazy_parameter(shape: list[int], dtype: torch.dtype) -> LazyParameter:
    """A parameter without memory, whose ``fill`` is to be set to what initialises it."""
    parameter = object.__new__(LazyParameter)
    parameter.raw = torch.empty(shape, dtype=dtype, device="meta")
    return parameter


class LazyGuard:
    """Makes the parameters of layers that are built inside without memory; ``initialize`` of each
    fills it, and so does ``set_value``, which loading a state calls.

    Example:
        >>> with paddle.LazyGuard():
        ...     layer = paddle.nn.Linear(2, 3)
        >>> for parameter in layer.parameters():
        ...     parameter.initialize()
        >>> layer(paddle.ones([1, 2])).shape
        [1, 3]
    """

    def __enter__(self) -> None:
        if is_lazy.value:
            raise BadArgument("LazyGuard: it is in force already")
        is_lazy.value = True

    def __exit__(self, *exception: object) -> None:
        is_lazy.value = False
