"""Element-wise arithmetic and mathematical functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops import promotion
from argosy.ops.table import define, op


@op("add", aliases=("elementwise_add",))
def add(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return torch.add(x, y) if isinstance(x, Tensor) else torch.add(y, x)


@op("subtract", aliases=("elementwise_sub",))
def subtract(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return x - y


@op("multiply", aliases=("elementwise_mul",))
def multiply(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return torch.mul(x, y) if isinstance(x, Tensor) else torch.mul(y, x)


@op("divide", aliases=("elementwise_div",))
def divide(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return x / y


@op("floor_divide", aliases=("elementwise_floordiv",))
def floor_divide(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return x // y


@op("remainder", aliases=("elementwise_mod",))
def remainder(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return x % y


@op("pow", aliases=("elementwise_pow",))
def pow(x: Any, y: Any) -> Tensor:
    promotion.check(x, y)
    return torch.pow(x, y)


@op("matmul", aliases=("matmul_v2",))
def matmul(x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    if transpose_x and x.ndim > 1:
        x = x.mT
    if transpose_y and y.ndim > 1:
        y = y.mT
    return torch.matmul(x, y)


neg = define("neg", torch.neg, ("x",))
abs = define("abs", torch.abs, ("x",))
