"""Initialisers without chance: Constant, Assign, Dirac, Bilinear."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.nn.initializer._base import HALF, Initializer, Plan
from argosy.ops.array import initialization as ops
from argosy.tensor.engine import Tensor


class Constant(Initializer):
    """Fill with one value."""

    def __init__(self, value: float = 0.0) -> None:
        if value is None:
            raise UsageError("Constant: value must not be None.")
        self._value = value

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        return ops.fill_constant, {"shape": list(shape), "value": self._value, "dtype": dtype}


class Assign(Initializer):
    """Fill with given values: an array, nested lists or a Tensor of the parameter's size.

    A value with another number of elements gives the parameter its own shape, with a warning; in a
    program the run refuses it. Differs from Paddle, where every value does, silently.
    """

    _cast_dtypes = HALF

    def __init__(self, value: Any, name: str | None = None) -> None:
        if isinstance(value, Tensor):
            value = (
                value.raw.detach().float().numpy()
                if value.raw.dtype is torch.bfloat16
                else value.numpy()
            )
        if not isinstance(value, (np.ndarray, list, tuple)):
            raise BadArgument(
                "Assign: expected an array, a list or a Tensor, but received "
                f"{type(value).__name__}"
            )
        self._value = np.asarray(value)
        if self._value.dtype.kind not in "biufc":
            raise DtypeError(
                f"Assign: expected numbers, but received an array of {self._value.dtype}"
            )

    def shape_made(self, shape: Sequence[int]) -> list[int]:
        return list(shape if self._value.size == int(np.prod(shape)) else self._value.shape)

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        value = self._value
        if value.size == int(np.prod(shape)):
            value = value.reshape(shape)
        else:
            warnings.warn(
                f"Assign: the value has shape {list(value.shape)}, the parameter {list(shape)}; "
                "the parameter takes the shape of the value.",
                stacklevel=4,
            )
        return ops.assign_value, {"values": value, "dtype": dtype}


class Dirac(Initializer):
    """Fill a convolution weight so that it hands its input channels on, within each group."""

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        if not (isinstance(groups, int) and groups > 0):
            raise BadArgument(f"Dirac: groups must be a positive integer, but received {groups!r}")
        self._groups = groups

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        if len(shape) not in (3, 4, 5):
            raise BadArgument(
                "Dirac: only a tensor of 3, 4 or 5 dimensions can be filled, but this one is "
                f"{list(shape)}"
            )
        if shape[0] % self._groups:
            raise BadArgument(
                f"Dirac: dimension 0 ({shape[0]}) must be divisible by groups ({self._groups})"
            )
        return ops.dirac, {"shape": list(shape), "groups": self._groups, "dtype": dtype}


class Bilinear(Initializer):
    """Fill the weight of a transposed convolution with Paddle's kernel for upsampling."""

    _cast_dtypes = (*HALF, torch.float64)

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        if len(shape) != 4 or shape[2] != shape[3]:
            raise UsageError(
                f"Bilinear: expected a shape [out, in, k, k], but received {list(shape)}"
            )
        return ops.assign_value, {"values": ops.bilinear_kernel(shape).numpy(), "dtype": dtype}
