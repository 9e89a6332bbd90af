"""Initialisers scaled by a layer's fan-in and fan-out: Xavier and Kaiming, and the gain of an
activation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from argosy.foundation.errors import BadArgument, UsageError, nearest
from argosy.nn.initializer._base import HALF, Initializer, Plan, fans
from argosy.ops.array import initialization as ops

_UNIT_GAIN = (
    "sigmoid", "linear", "conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv_transpose1d",
    "conv2d_transpose", "conv_transpose2d", "conv3d_transpose", "conv_transpose3d",
)  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor on a weight's deviation that suits an activation; ``param`` is the slope of
    leaky_relu.

    Example:
        >>> import paddle
        >>> paddle.nn.initializer.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if param is not None and not isinstance(param, (bool, int, float)):
        raise BadArgument(
            f"calculate_gain: param must be a number, but received {type(param).__name__}"
        )
    slope = 0.01 if param is None else float(param)
    gains = dict.fromkeys(_UNIT_GAIN, 1.0) | {
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1 + slope**2)),
        "selu": 3.0 / 4,
    }
    if nonlinearity not in gains:
        raise UsageError(
            f"calculate_gain: nonlinearity function {nonlinearity} is not "
            f"supported.{nearest(str(nonlinearity), gains)}"
        )
    return gains[nonlinearity]


def _uniform(shape: Sequence[int], limit: float, dtype: torch.dtype) -> Plan:
    return ops.uniform_random, {"shape": list(shape), "min": -limit, "max": limit, "dtype": dtype}


def _normal(shape: Sequence[int], std: float, dtype: torch.dtype) -> Plan:
    return ops.gaussian_random, {"shape": list(shape), "mean": 0.0, "std": std, "dtype": dtype}


class _Xavier(Initializer):
    def __init__(
        self,
        fan_in: float | None = None,
        fan_out: float | None = None,
        gain: float = 1.0,
        name: str | None = None,
    ) -> None:
        self._fan_in = fan_in
        self._fan_out = fan_out
        self._gain = gain

    def _std(self, shape: Sequence[int]) -> float:
        fan_in, fan_out = fans(shape)
        total_in = fan_in if self._fan_in is None else self._fan_in
        total_out = fan_out if self._fan_out is None else self._fan_out
        return (
            self._gain * math.sqrt(2.0 / (total_in + total_out)) if total_in and total_out else 0.0
        )


class XavierUniform(_Xavier):
    """Draw uniformly from ±gain·sqrt(6 / (fan_in + fan_out))."""

    _cast_dtypes = (torch.float16,)

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return _uniform(shape, math.sqrt(3.0) * self._std(shape), dtype)


class XavierNormal(_Xavier):
    """Draw from a normal distribution of deviation gain·sqrt(2 / (fan_in + fan_out))."""

    _cast_dtypes = HALF

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return _normal(shape, self._std(shape), dtype)


class _Kaiming(Initializer):
    def __init__(
        self,
        fan_in: float | None = None,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise UsageError(
                f"{type(self).__name__}: mode should be 'fan_in' or 'fan_out', but received "
                f"{mode!r}"
            )
        if mode == "fan_out" and fan_in is not None:
            raise UsageError(
                f"{type(self).__name__}: mode is 'fan_out', so fan_in must be None, but received "
                f"{fan_in}"
            )
        self._fan_in = fan_in
        self._negative_slope = negative_slope
        self._nonlinearity = nonlinearity
        self._mode = mode

    def _std(self, shape: Sequence[int]) -> float:
        gain = calculate_gain(self._nonlinearity, self._negative_slope)
        fan_in, fan_out = fans(shape)
        if self._mode == "fan_out":
            return gain / math.sqrt(fan_out)
        return gain / math.sqrt(fan_in if self._fan_in is None else self._fan_in)


class KaimingUniform(_Kaiming):
    """Draw uniformly from ±gain·sqrt(3 / fan)."""

    _cast_dtypes = (torch.float16,)

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return _uniform(shape, math.sqrt(3.0) * self._std(shape), dtype)


class KaimingNormal(_Kaiming):
    """Draw from a normal distribution of deviation gain / sqrt(fan)."""

    _cast_dtypes = HALF

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return _normal(shape, self._std(shape), dtype)
