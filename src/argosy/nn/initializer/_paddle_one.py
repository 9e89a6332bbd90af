"""Initialisers under the names and with the arguments of Paddle 1.x, which later versions keep.

A ``seed`` other than 0 makes every parameter filled by the initialiser start from the same random
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import NotSupported
from argosy.nn.initializer._base import Initializer, Plan
from argosy.nn.initializer._fixed import Assign, Constant
from argosy.nn.initializer._random import Normal, TruncatedNormal, Uniform
from argosy.nn.initializer._scaled import KaimingNormal, KaimingUniform, XavierNormal, XavierUniform


class _Seeded(Initializer):
    """Another initialiser, with a seed."""

    def __init__(self, inner: Initializer, seed: int) -> None:
        self._inner = inner
        self._seed = seed

    def plan(self, shape: Sequence[int], dtype: torch.dtype) -> Plan:
        op, attrs = self._inner.plan(shape, dtype)
        return op, {**attrs, "seed": self._seed}

    def made_in(self, dtype: torch.dtype) -> torch.dtype:
        return self._inner.made_in(dtype)


class ConstantInitializer(Constant):
    """Fill with one value; ``force_cpu`` only says where the value is made."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)


class UniformInitializer(_Seeded):
    """Draw uniformly from [low, high)."""

    def __init__(
        self,
        low: float = -1.0,
        high: float = 1.0,
        seed: int = 0,
        diag_num: int = 0,
        diag_step: int = 0,
        diag_val: float = 1.0,
    ) -> None:
        if diag_num or diag_step:
            raise NotSupported("UniformInitializer: diag_num and diag_step are not supported")
        super().__init__(Uniform(low, high), seed)


class NormalInitializer(_Seeded):
    """Draw from a normal distribution."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(Normal(loc, scale), seed)


class TruncatedNormalInitializer(_Seeded):
    """Draw from a normal distribution restricted to [a, b]."""

    def __init__(
        self, loc: float = 0.0, scale: float = 1.0, seed: int = 0, a: float = -2.0, b: float = 2.0
    ) -> None:
        super().__init__(TruncatedNormal(loc, scale, a, b), seed)


class XavierInitializer(_Seeded):
    """Xavier's uniform or normal distribution."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
        gain: float = 1.0,
    ) -> None:
        kind: Any = XavierUniform if uniform else XavierNormal
        super().__init__(kind(fan_in, fan_out, gain), seed)


class MSRAInitializer(_Seeded):
    """Kaiming's uniform or normal distribution."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        kind: Any = KaimingUniform if uniform else KaimingNormal
        super().__init__(kind(fan_in, negative_slope, nonlinearity, mode), seed)


class NumpyArrayInitializer(Assign):
    """Fill with the values of an array."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
