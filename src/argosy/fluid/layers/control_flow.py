"""Branches and loops, and the comparisons and arrays that 1.x keeps beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.fluid.layers._arrays import array_length, array_read, array_write, create_array
from argosy.fluid.layers._blocks import Switch, While
from argosy.fluid.layers._static_rnn import StaticRNN
from argosy.fluid.layers.tensor import assign
from argosy.fluid.missing import missing_names
from argosy.static.nn import case, cond, switch_case, while_loop
from argosy.static.record import print_op

__all__ = [
    "Print",
    "StaticRNN",
    "Switch",
    "While",
    "array_length",
    "array_read",
    "array_write",
    "case",
    "cond",
    "create_array",
    "equal",
    "greater_equal",
    "greater_than",
    "increment",
    "less_equal",
    "less_than",
    "not_equal",
    "switch_case",
    "while_loop",
]


def _compare(compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, y: Any, cond: Any = None) -> Any:
        return compute(x, y) if cond is None else assign(compute(x, y), cond)

    function.__name__ = function.__qualname__ = compute.__name__
    function.__doc__ = (
        f"``{compute.__name__}(x, y)``, element by element; ``cond`` is filled with it if given."
    )
    return function


equal = _compare(T.equal)
not_equal = _compare(T.not_equal)
less_equal = _compare(T.less_equal)
greater_than = _compare(T.greater_than)
greater_equal = _compare(T.greater_equal)


def less_than(x: Any, y: Any, force_cpu: Any = None, cond: Any = None) -> Any:
    """``less_than(x, y)``, element by element; ``cond`` is filled with it if given. ``force_cpu``
    changes nothing.
    """
    return T.less_than(x, y) if cond is None else assign(T.less_than(x, y), cond)


def increment(x: Any, value: float = 1.0, in_place: bool = True) -> Any:
    """Add ``value`` to a tensor of one element, by default to ``x`` itself."""
    return T.increment(x, value) if in_place else x + value


def Print(
    input: Any,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Any:
    """``paddle.static.Print`` without the layout."""
    return print_op.Print(
        input,
        first_n,
        message,
        summarize,
        print_tensor_name,
        print_tensor_type,
        print_tensor_shape,
        False,
        print_tensor_lod,
        print_phase,
    )


__getattr__ = missing_names(__name__, globals())
