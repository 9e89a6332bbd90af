"""How operators of Paddle's programs match their operands: aligned by ``axis``, or folded into
matrices.
"""

from __future__ import annotations

from typing import Any

from argosy.ops.fluid import product
from argosy.ops.table import Op
from argosy.tensor.engine import apply


def along(op: Op, x: Any, y: Any, axis: int) -> Any:
    """``op`` with the first axis of ``y`` under axis ``axis`` of ``x``; -1 aligns the last ones."""
    return apply(op, x, y) if axis == -1 else apply(product.ALONG[op], x, y, axis)


def mul(
    x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None
) -> Any:
    """Multiply as matrices: the first ``num_col_dims`` axes of each are its rows, the others its
    columns.
    """
    return apply(product.mul, x, y, x_num_col_dims, y_num_col_dims)


def biased(x: Any, bias: Any, axis: int) -> Any:
    """``x`` plus a vector that lies under axis ``axis``, if there is one."""
    return x if bias is None else apply(product.add_along, x, bias, axis)
