"""``fluid.initializer``: the initialisers of 1.x, under their long names; the short ones are rows
of ``paths.txt``.

Their operators go before those that a startup program has, and values of float16 parameters are
made as float32 and cast.
"""

from __future__ import annotations

import torch

from argosy import nn
from argosy.nn.initializer import Initializer as _Current


class _First(_Current):
    """How initialisers of 1.x are put into a program; a subclass also derives from what it
    computes.
    """

    goes_first = True

    def made_in(self, dtype: torch.dtype) -> torch.dtype:
        return torch.float32 if dtype is torch.float16 else dtype


class ConstantInitializer(_First, nn.initializer.ConstantInitializer):
    """Fill with one value; ``force_cpu`` only says where the value is made."""


class UniformInitializer(_First, nn.initializer.UniformInitializer):
    """Draw uniformly from [low, high)."""


class NormalInitializer(_First, nn.initializer.NormalInitializer):
    """Draw from a normal distribution."""


class TruncatedNormalInitializer(_First, nn.initializer.TruncatedNormalInitializer):
    """Draw from a normal distribution cut off at two standard deviations, where later versions cut
    at -2 and 2.
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale, seed, loc - 2.0 * scale, loc + 2.0 * scale)


class XavierInitializer(_First, nn.initializer.XavierInitializer):
    """Xavier's uniform or normal distribution."""


class MSRAInitializer(_First, nn.initializer.MSRAInitializer):
    """Kaiming's uniform or normal distribution."""


class NumpyArrayInitializer(_First, nn.initializer.NumpyArrayInitializer):
    """Fill with the values of an array."""


class BilinearInitializer(_First, nn.initializer.Bilinear):
    """Fill the weight of a transposed convolution with Paddle's kernel for upsampling."""

    goes_first = False
