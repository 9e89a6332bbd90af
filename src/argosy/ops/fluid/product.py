"""Products of 1.x: operands folded into matrices, or aligned by an axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops import sketch
from argosy.ops.math import elementwise
from argosy.ops.math.linalg import linear
from argosy.ops.table import Op, define, op
from argosy.ops.traits import Precision


@op(
    "mul",
    types=("mul(X, Y, x_num_col_dims, y_num_col_dims)",),
    precision=Precision.WHITE,
    sketch=sketch.folded_product,
)
def mul(x: Tensor, y: Tensor, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Tensor:
    """Multiply as matrices: the first ``num_col_dims`` axes of each are its rows, the others its
    columns.
    """
    left = x if x.ndim == x_num_col_dims + 1 else x.flatten(x_num_col_dims)
    if y.ndim == 2:
        return torch.matmul(left, y)
    columns = y.shape[y_num_col_dims:]
    right = y.reshape(math.prod(y.shape[:y_num_col_dims]), -1)
    return torch.matmul(left, right).reshape(*left.shape[:-1], *columns)


@op("mul_add", precision={"mul": Precision.WHITE})
def mul_add(x: Tensor, weight: Tensor, bias: Tensor, x_num_col_dims: int = 1) -> Tensor:
    """``mul`` with a matrix, plus a vector: what runs in place of the two."""
    left = x if x.ndim == x_num_col_dims + 1 else x.flatten(x_num_col_dims)
    out: Tensor = linear.fn(left, weight, bias)
    return out


@op(
    "fluid_matmul",
    fluid="matmul(X, Y, transpose_X, transpose_Y, alpha)",
    precision={"matmul": Precision.WHITE},
    layer="matmul",
)
def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Tensor:
    """The product of matrices, times ``alpha``; two vectors give shape [1]."""
    product: Tensor = elementwise.matmul.fn(x, y, transpose_x, transpose_y)
    if product.ndim == 0:
        product = product.reshape(1)
    return product if alpha == 1.0 else product * alpha


def aligned(x: Tensor, y: Tensor, axis: int) -> Tensor:
    """``y`` with trailing axes of length 1, so that its first one stands under axis ``axis`` of
    ``x``; -1 aligns the last ones.
    """
    if axis == -1 or y.ndim >= x.ndim:
        return y
    num_trailing = x.ndim - axis - y.ndim
    if num_trailing < 0:
        raise UsageError(
            f"elementwise operation: y of shape {list(y.shape)} does not fit into x of shape "
            f"{list(x.shape)} from axis {axis} on"
        )
    return y.reshape(*y.shape, *[1] * num_trailing) if num_trailing else y


def _along(base: Op) -> Op:
    def compute(x: Tensor, y: Tensor, axis: int) -> Tensor:
        y = aligned(x, y, axis)
        if base is elementwise.divide and not (x.is_floating_point() or x.is_complex()):
            return torch.div(x, y, rounding_mode="trunc").detach()  # as 1.x divides integers
        out: Tensor = base.fn(x, y)
        return out

    text = f"{base.type}(X, Y, axis)"
    precision = base.traits.precision
    return define(
        f"{base.name}_along",
        compute,
        types=(text,),
        precision=precision,
        layer=base.traits.layer,
        sketch=sketch.elementwise,
    )


add_along = _along(elementwise.add)
ALONG = {
    base: _along(base) if base is not elementwise.add else add_along
    for base in (
        elementwise.add,
        elementwise.subtract,
        elementwise.multiply,
        elementwise.divide,
        elementwise.maximum,
        elementwise.minimum,
        elementwise.pow,
        elementwise.remainder,
        elementwise.floor_divide,
    )
}
