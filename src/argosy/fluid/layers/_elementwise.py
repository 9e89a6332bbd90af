"""Functions of two tensors, and ``scale``: an ``axis`` that aligns the second operand, and an
activation ``act``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.static.record.activation import activate
from argosy.static.record.folding import align

__all__ = [
    "elementwise_add",
    "elementwise_div",
    "elementwise_floordiv",
    "elementwise_max",
    "elementwise_min",
    "elementwise_mod",
    "elementwise_mul",
    "elementwise_pow",
    "elementwise_sub",
    "scale",
]


def _elementwise(compute: Callable[[Any, Any], Any], symbol: str) -> Callable[..., Any]:
    def function(
        x: Any, y: Any, axis: int = -1, act: str | None = None, name: str | None = None
    ) -> Any:
        return activate(compute(x, align(x, y, axis)), act)

    function.__name__ = function.__qualname__ = f"elementwise_{symbol}"
    function.__doc__ = (
        f"``{compute.__name__}(x, y)`` with the first axis of ``y`` under ``axis`` of ``x``, "
        "then ``act``."
    )
    return function


def divide(x: Any, y: Any) -> Any:
    """Divide; integers give integers, rounded towards zero."""
    return T.divide(x, y) if x.is_floating_point() else T.divide(x, y, rounding_mode="trunc")


elementwise_add = _elementwise(T.add, "add")
elementwise_sub = _elementwise(T.subtract, "sub")
elementwise_mul = _elementwise(T.multiply, "mul")
elementwise_div = _elementwise(divide, "div")
elementwise_max = _elementwise(T.maximum, "max")
elementwise_min = _elementwise(T.minimum, "min")
elementwise_pow = _elementwise(T.pow, "pow")
elementwise_mod = _elementwise(T.remainder, "mod")
elementwise_floordiv = _elementwise(T.floor_divide, "floordiv")


def scale(
    x: Any,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """``scale * x + bias``, or ``scale * (x + bias)``; then ``act``."""
    return activate(T.scale(x, scale, bias, bias_after_scale), act)
