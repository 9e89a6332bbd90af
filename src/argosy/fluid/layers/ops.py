"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.nn import functional as F
from argosy.nn.functional import logsigmoid, sigmoid, softsign, tanh
from argosy.tensor import (
    abs,
    acos,
    asin,
    atan,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    reciprocal,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    stanh,
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
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "maxout",
    "pow",
    "reciprocal",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "sin",
    "soft_relu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "sqrt",
    "square",
    "stanh",
    "swish",
    "tanh",
    "tanh_shrink",
    "thresholded_relu",
]

relu = F.relu


def round(x: Any, name: str | None = None) -> Any:
    """The nearest whole number."""
    return T.round(x)


def softplus(x: Any, name: str | None = None) -> Any:
    """``log(1 + exp(x))``."""
    return F.softplus(x)


def cumsum(
    x: Any, axis: int | None = None, exclusive: bool | None = None, reverse: bool | None = None
) -> Any:
    """Sums of all elements up to each one along ``axis``, the last by default; without itself if
    ``exclusive``, from the end if ``reverse``.
    """
    along = -1 if axis is None else axis
    given = T.flip(x, [along]) if reverse else x
    total = T.cumsum(given, along)
    total = total - given if exclusive else total
    return T.flip(total, [along]) if reverse else total


def _logical(compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, y: Any, out: Any = None, name: str | None = None) -> Any:
        return compute(x, y) if out is None else T.assign(compute(x, y), out)

    function.__name__ = function.__qualname__ = compute.__name__
    function.__doc__ = (
        f"``{compute.__name__}(x, y)``, element by element; ``out`` is filled with it if given."
    )
    return function


logical_and = _logical(T.logical_and)
logical_or = _logical(T.logical_or)
logical_xor = _logical(T.logical_xor)


def logical_not(x: Any, out: Any = None, name: str | None = None) -> Any:
    """Whether each element is false; ``out`` is filled with it if given."""
    return T.logical_not(x) if out is None else T.assign(T.logical_not(x), out)


def maxout(x: Any, groups: int, name: str | None = None, axis: int = 1) -> Any:
    """The largest of each ``groups`` neighbouring channels."""
    return F.maxout(x, groups, axis)


def hard_swish(
    x: Any, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: str | None = None
) -> Any:
    """``x`` times ``x + offset`` held between 0 and ``threshold``, divided by ``scale``."""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return F.hardswish(x)
    return x * _clip(x + offset, 0.0, threshold) / scale


def relu6(x: Any, threshold: float = 6.0, name: str | None = None) -> Any:
    """``min(max(x, 0), threshold)``."""
    return F.relu6(x) if threshold == 6.0 else _clip(x, 0.0, threshold)


def brelu(x: Any, t_min: float = 0.0, t_max: float = 24.0, name: str | None = None) -> Any:
    """``min(max(x, t_min), t_max)``."""
    return _clip(x, t_min, t_max)


def soft_relu(x: Any, threshold: float = 40.0, name: str | None = None) -> Any:
    """``log(1 + exp(x))`` of ``x`` held between the threshold and its negative."""
    return log(exp(_clip(x, -threshold, threshold)) + 1.0)


def selu(
    x: Any, scale: float | None = None, alpha: float | None = None, name: str | None = None
) -> Any:
    """``scale`` times ``x``, or times ``alpha * (exp(x) - 1)`` where it is negative."""
    own_scale, own_alpha = 1.0507009873554805, 1.6732632423543772
    return F.selu(x, own_scale if scale is None else scale, own_alpha if alpha is None else alpha)


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


def hard_shrink(x: Any, threshold: float | None = None) -> Any:
    """``x``, and 0 between the threshold (0.5 by default) and its negative."""
    return F.hardshrink(x, 0.5 if threshold is None else threshold)


def softshrink(x: Any, alpha: float | None = None) -> Any:
    """``x`` moved towards 0 by ``alpha``, 0.5 by default."""
    return F.softshrink(x, 0.5 if alpha is None else alpha)


def tanh_shrink(x: Any, name: str | None = None) -> Any:
    """``x - tanh(x)``."""
    return F.tanhshrink(x)


def thresholded_relu(x: Any, threshold: float | None = None) -> Any:
    """``x``, and 0 up to the threshold, 1 by default."""
    return F.thresholded_relu(x, 1.0 if threshold is None else threshold)


def hard_sigmoid(x: Any, slope: float = 0.2, offset: float = 0.5, name: str | None = None) -> Any:
    """``slope * x + offset`` between 0 and 1."""
    return F.hardsigmoid(x, slope, offset)


def pow(x: Any, factor: Any = 1.0, name: str | None = None) -> Any:
    """``x`` to the power ``factor``."""
    return _pow(x, factor)


def softmax(input: Any, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Any:
    """Exponentials along ``axis``, divided by their sum; ``use_cudnn`` changes nothing."""
    return F.softmax(input, axis)
