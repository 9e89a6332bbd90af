"""The activations that 1.x layers and functions name with ``act="relu"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import UsageError, nearest
from argosy.nn import functional as F
from argosy.tensor import math

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(F, name)
    for name in (
        "elu",
        "gelu",
        "logsigmoid",
        "relu",
        "relu6",
        "sigmoid",
        "softmax",
        "softplus",
        "softsign",
        "swish",
        "tanh",
    )
}
_FUNCTIONS.update(
    {
        name: getattr(math, name)
        for name in ("abs", "ceil", "cos", "exp", "floor", "log", "reciprocal", "round", "sin", "sqrt", "square")
    }
)
# Operators of 1.x have defaults of their own.
_FUNCTIONS["leaky_relu"] = lambda x: F.leaky_relu(x, 0.02)
_FUNCTIONS["hard_sigmoid"] = lambda x: F.hardsigmoid(x, 0.2, 0.5)
_FUNCTIONS["hard_swish"] = F.hardswish


def activate(x: Any, act: str | None) -> Any:
    """Apply the activation that ``act`` names; None leaves ``x`` as it is."""
    if act is None:
        return x
    if act not in _FUNCTIONS:
        raise UsageError(f"unknown activation act={act!r}.{nearest(act, _FUNCTIONS)}")
    return _FUNCTIONS[act](x)
