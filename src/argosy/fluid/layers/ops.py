"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.functional import hardswish as hard_swish
from argosy.nn.functional import logsigmoid, sigmoid, softplus, softsign, tanh
from argosy.tensor import (
    abs,
    acos,
    asin,
    atan,
    ceil,
    cos,
    cumsum,
    erf,
    exp,
    floor,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    reciprocal,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
)
from argosy.tensor import clip as _clip
from argosy.tensor import pow as _pow

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "brelu",
    "ceil",
    "cos",
    "cumsum",
    "elu",
    "erf",
    "exp",
    "floor",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "pow",
    "reciprocal",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "swish",
    "tanh",
]

relu = F.relu


def relu6(x: Any, threshold: float = 6.0, name: str | None = None) -> Any:
    """``min(max(x, 0), threshold)``."""
    return F.relu6(x) if threshold == 6.0 else _clip(x, 0.0, threshold)


def brelu(x: Any, t_min: float = 0.0, t_max: float = 24.0, name: str | None = None) -> Any:
    """``min(max(x, t_min), t_max)``."""
    return _clip(x, t_min, t_max)


def leaky_relu(x: Any, alpha: float = 0.02, name: str | None = None) -> Any:
    """``x``, times ``alpha`` where it is negative."""
    return F.leaky_relu(x, alpha)


def elu(x: Any, alpha: float = 1.0, name: str | None = None) -> Any:
    """``x``, and ``alpha * (exp(x) - 1)`` where it is negative."""
    return F.elu(x, alpha)


def gelu(x: Any, approximate: bool = False) -> Any:
    """``x`` times the normal distribution function of it."""
    return F.gelu(x, approximate)


def swish(x: Any, beta: float = 1.0, name: str | None = None) -> Any:
    """``x * sigmoid(beta * x)``."""
    return F.swish(x) if beta == 1.0 else x * sigmoid(x * beta)


def hard_sigmoid(x: Any, slope: float = 0.2, offset: float = 0.5, name: str | None = None) -> Any:
    """``slope * x + offset`` between 0 and 1."""
    return F.hardsigmoid(x, slope, offset)


def pow(x: Any, factor: Any = 1.0, name: str | None = None) -> Any:
    """``x`` to the power ``factor``."""
    return _pow(x, factor)


def softmax(input: Any, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Any:
    """Exponentials along ``axis``, divided by their sum; ``use_cudnn`` changes nothing."""
    return F.softmax(input, axis)
