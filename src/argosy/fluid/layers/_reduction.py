"""Sums, means and the like. What reduces everything has shape [1], and integers stay what they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.fluid.layers._shape import at_least_1d

__all__ = [
    "mean",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]


def mean(x: Any, name: str | None = None) -> Any:
    """The mean of all elements, of shape [1]."""
    return at_least_1d(T.mean(x))


def _reduce(
    compute: Callable[..., Any], word: str, keeps_dtype: bool = False
) -> Callable[..., Any]:
    def function(
        input: Any, dim: Any = None, keep_dim: bool = False, name: str | None = None
    ) -> Any:
        axis = None if dim is None or dim == [] else dim
        options = {"dtype": input.dtype} if keeps_dtype else {}
        return at_least_1d(compute(input, axis=axis, keepdim=keep_dim, **options))

    function.__name__ = function.__qualname__ = f"reduce_{word}"
    function.__doc__ = f"The {word} over the axes ``dim``, by default over all."
    return function


reduce_sum = _reduce(T.sum, "sum", keeps_dtype=True)
reduce_mean = _reduce(T.mean, "mean")
reduce_max = _reduce(T.max, "max")
reduce_min = _reduce(T.min, "min")
reduce_prod = _reduce(T.prod, "prod", keeps_dtype=True)
reduce_all = _reduce(T.all, "all")
reduce_any = _reduce(T.any, "any")
