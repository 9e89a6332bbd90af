"""Comparisons and counting, which 1.x keeps beside its control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.fluid._missing import missing_names
from argosy.fluid.layers.tensor import assign

__all__ = ["equal", "greater_equal", "greater_than", "increment", "less_equal", "less_than", "not_equal"]


def _compare(compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, y: Any, cond: Any = None, force_cpu: Any = None) -> Any:
        return compute(x, y) if cond is None else assign(compute(x, y), cond)

    function.__name__ = function.__qualname__ = compute.__name__
    function.__doc__ = f"``{compute.__name__}(x, y)``, element by element; ``cond`` is filled with it if given."
    return function


equal = _compare(T.equal)
not_equal = _compare(T.not_equal)
less_than = _compare(T.less_than)
less_equal = _compare(T.less_equal)
greater_than = _compare(T.greater_than)
greater_equal = _compare(T.greater_equal)


def increment(x: Any, value: float = 1.0, in_place: bool = True) -> Any:
    """Add ``value`` to a tensor of one element, by default to ``x`` itself."""
    return T.increment(x, value) if in_place else x + value


__getattr__ = missing_names(__name__, globals())
