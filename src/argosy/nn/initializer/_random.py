"""Initialisers that draw from a distribution given outright: Uniform, Normal, TruncatedNormal,
Orthogonal.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn.initializer._base import HALF, Initializer, Plan, require
from argosy.ops.array import initialization as ops


class Uniform(Initializer):
    """Draw uniformly from [low, high)."""

    _cast_dtypes = (torch.float16,)

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        require("Uniform", low=low, high=high)
        if high < low:
            raise BadArgument(
                f"Uniform: high should be greater than or equal to low, but received low={low}, "
                f"high={high}"
            )
        self._low = low
        self._high = high

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return ops.uniform_random, {
            "shape": list(shape), "min": float(self._low), "max": float(self._high),
            "dtype": dtype,
        }  # fmt: skip


class Normal(Initializer):
    """Draw from a normal distribution. The two parts of a complex parameter are drawn around the
    same ``mean``, so that a complex one must have equal parts.
    """

    def __init__(self, mean: complex = 0.0, std: float = 1.0, name: str | None = None) -> None:
        require("Normal", mean=mean, std=std)
        if isinstance(mean, complex):
            if mean.real != mean.imag:
                raise UsageError(
                    f"Normal: the parts of a complex mean must be equal, but it is {mean}"
                )
            mean = mean.real
        self._mean = mean
        self._std_dev = std

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return ops.gaussian_random, {
            "shape": list(shape), "mean": float(self._mean), "std": float(self._std_dev),
            "dtype": dtype,
        }  # fmt: skip


class TruncatedNormal(Initializer):
    """Draw from a normal distribution restricted to [a, b]; the bounds are values, not numbers of
    deviations.
    """

    _cast_dtypes = HALF

    def __init__(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        a: float = -2.0,
        b: float = 2.0,
        name: str | None = None,
    ) -> None:
        require("TruncatedNormal", mean=mean, std=std, a=a, b=b)
        self._mean = mean
        self._std_dev = std
        self._a = a
        self._b = b

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return ops.truncated_gaussian_random, {
            "shape": list(shape), "mean": float(self._mean), "std": float(self._std_dev),
            "a": float(self._a), "b": float(self._b), "dtype": dtype,
        }  # fmt: skip


class Orthogonal(Initializer):
    """Draw a matrix with orthonormal rows or columns, times ``gain``; dimensions after the first
    count as one.
    """

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        require("Orthogonal", gain=gain)
        self._gain = gain

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        if len(shape) < 2:
            raise BadArgument(
                "Orthogonal: only a tensor of 2 or more dimensions can be filled, but this one "
                f"is {list(shape)}"
            )
        return ops.orthogonal_random, {
            "shape": list(shape),
            "gain": float(self._gain),
            "dtype": dtype,
        }
