"""How operators of Paddle's programs match their operands: aligned by ``axis``, or folded into
matrices.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.tensor import flatten, matmul, reshape, unsqueeze


def align(x: Any, y: Any, axis: int) -> Any:
    """Give ``y`` trailing axes of length 1, so that its first one stands under axis ``axis`` of
    ``x``; -1 aligns the last ones.
    """
    if axis == -1 or y.ndim >= x.ndim:
        return y
    num_trailing = x.ndim - axis - y.ndim
    if num_trailing < 0:
        raise UsageError(
            f"elementwise operation: y of shape {y.shape} does not fit into x of shape {x.shape} "
            f"from axis {axis} on"
        )
    return unsqueeze(y, list(range(y.ndim, y.ndim + num_trailing))) if num_trailing else y


def mul(
    x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None
) -> Any:
    """Multiply as matrices: the first ``num_col_dims`` axes of each are its rows, the others its
    columns.
    """
    left = x if x.ndim == x_num_col_dims + 1 else flatten(x, x_num_col_dims)
    if y.ndim == 2 and y_num_col_dims == 1:
        return matmul(left, y)
    columns = list(y.shape[y_num_col_dims:])
    right = y if y_num_col_dims == 1 else flatten(y, 0, y_num_col_dims - 1)
    right = right if len(columns) == 1 else flatten(right, 1)
    out = matmul(left, right)
    return out if len(columns) == 1 else reshape(out, [*[0] * x_num_col_dims, *columns])
