"""How the operators that scripts of 1.x write between variables align them.

Where the second operand begins with a dimension that only a run knows, which is that of the
samples, 1.x puts it under the first dimension of the other: ``x * mask`` may be ``[-1, 7, 4] * [-1,
7]``. Operators of today, and those in our own functions, align the last dimensions.
"""

from __future__ import annotations

import sys
from typing import Any

from argosy.ops.math import elementwise
from argosy.static.ir.variable import Variable

FROM_THE_FIRST = {
    "__add__": elementwise.add,
    "__sub__": elementwise.subtract,
    "__mul__": elementwise.multiply,
    "__truediv__": elementwise.divide,
    "__pow__": elementwise.pow,
    "__mod__": elementwise.remainder,
    "__floordiv__": elementwise.floor_divide,
}


def aligns_first(symbol: str, x: Variable, y: Any) -> bool:
    """Whether the caller's caller writes an operator that puts ``y`` under the first dimension."""
    return (
        isinstance(y, Variable)
        and x.block.program.is_fluid
        and 0 < y.ndim < x.ndim
        and y.shape[0] == -1
        and symbol in FROM_THE_FIRST
        and not sys._getframe(2).f_globals.get("__name__", "").startswith("argosy.")
    )
