"""``mul`` of 1.x: a product of matrices into which the operands are folded."""

from __future__ import annotations

import math
from typing import Any

from argosy.tensor import matmul, reshape


def mul(x: Any, y: Any, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None) -> Any:
    """Multiply as matrices: the first ``num_col_dims`` axes of each are its rows, the others its columns."""
    if x.ndim == 2 and y.ndim == 2 and x_num_col_dims == y_num_col_dims == 1:
        return matmul(x, y)
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    left = reshape(x, [math.prod(rows), math.prod(x.shape[x_num_col_dims:])])
    right = reshape(y, [math.prod(y.shape[:y_num_col_dims]), math.prod(columns)])
    return reshape(matmul(left, right), [*rows, *columns])
