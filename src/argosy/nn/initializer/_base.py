"""What an initialiser is: a description of how to fill a tensor, as an op of the table and its attributes.

Called on a parameter it fills it in place. A recording program stores the same op in its startup program instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from argosy.ops import initialization as ops
from argosy.ops.table import Op


class Initializer:
    """Base class. Subclasses define ``plan``."""

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> tuple[Op, dict[str, Any]]:
        """The op, of the table, that makes the values of a tensor of this shape and dtype, and its attributes."""
        raise NotImplementedError(f"{type(self).__name__} does not define plan()")

    def __call__(self, param: Any, block: Any = None) -> Any:
        """Fill ``param`` in place and return it."""
        raw = param._t
        op, attrs = self.plan(list(raw.shape), raw.dtype)
        with torch.no_grad():
            raw.copy_(op.fn(**attrs))
        return param


class Constant(Initializer):
    """Fill with one value."""

    def __init__(self, value: float = 0.0) -> None:
        self._value = value

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> tuple[Op, dict[str, Any]]:
        return ops.fill_constant, {"shape": list(shape), "value": self._value, "dtype": dtype}


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Paddle's fan-in and fan-out: [in, out] for a matrix, [out, in, *window] for a convolution."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class XavierUniform(Initializer):
    """Uniform in ±gain·sqrt(6 / (fan_in + fan_out))."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: Any = None) -> None:
        self._fan_in = fan_in
        self._fan_out = fan_out
        self._gain = gain

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> tuple[Op, dict[str, Any]]:
        fan_in, fan_out = fans(shape)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        limit = self._gain * math.sqrt(6.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
        return ops.uniform_random, {"shape": list(shape), "low": -limit, "high": limit, "dtype": dtype}


class _Globals:
    weight: Initializer | None = None
    bias: Initializer | None = None


_globals = _Globals()


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Use these initialisers for parameters whose attribute names none, instead of the layers' own; None restores."""
    _globals.weight = weight_init
    _globals.bias = bias_init


def default_initializer_for(is_bias: bool, layer_default: Initializer | None) -> Initializer:
    """The initialiser of a parameter whose attribute names none."""
    chosen = _globals.bias if is_bias else _globals.weight
    if chosen is not None:
        return chosen
    if layer_default is not None:
        return layer_default
    return Constant(0.0) if is_bias else XavierUniform()
