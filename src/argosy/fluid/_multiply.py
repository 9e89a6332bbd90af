"""``mul`` of 1.x: a product of matrices into which the operands are folded."""

from __future__ import annotations

from typing import Any

from argosy.tensor import flatten, matmul, reshape


def mul(x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None) -> Any:
    """Multiply as matrices: the first ``num_col_dims`` axes of each are its rows, the others its columns."""
    left = x if x.ndim == x_num_col_dims + 1 else flatten(x, x_num_col_dims)
    if y.ndim == 2 and y_num_col_dims == 1:
        return matmul(left, y)
    columns = list(y.shape[y_num_col_dims:])
    right = y if y_num_col_dims == 1 else flatten(y, 0, y_num_col_dims - 1)
    right = right if len(columns) == 1 else flatten(right, 1)
    out = matmul(left, right)
    return out if len(columns) == 1 else reshape(out, [*[0] * x_num_col_dims, *columns])
