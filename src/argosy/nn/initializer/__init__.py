"""Initialisers of parameters."""

from argosy.nn.initializer._base import Initializer
from argosy.nn.initializer._fixed import Assign, Bilinear, Constant, Dirac
from argosy.nn.initializer._paddle_one import (
    ConstantInitializer,
    MSRAInitializer,
    NormalInitializer,
    NumpyArrayInitializer,
    TruncatedNormalInitializer,
    UniformInitializer,
    XavierInitializer,
)
from argosy.nn.initializer._random import Normal, Orthogonal, TruncatedNormal, Uniform
from argosy.nn.initializer._scaled import (
    KaimingNormal,
    KaimingUniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
)
from argosy.nn.initializer.default import set_global_initializer

__all__ = [
    "Bilinear",
    "Constant",
    "KaimingUniform",
    "KaimingNormal",
    "XavierNormal",
    "XavierUniform",
    "Assign",
    "Normal",
    "TruncatedNormal",
    "Uniform",
    "Orthogonal",
    "Dirac",
    "set_global_initializer",
    "calculate_gain",
]
