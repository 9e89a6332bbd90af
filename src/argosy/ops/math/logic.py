"""Comparisons, logical and bitwise ops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UnsupportedDtype, UsageError
from argosy.ops.math import promotion
from argosy.ops.math.elementwise import binary
from argosy.ops.table import define, op

equal = binary("equal", operator.eq)
not_equal = binary("not_equal", operator.ne)
less_than = binary("less_than", operator.lt)
less_equal = binary("less_equal", operator.le)
greater_than = binary("greater_than", operator.gt)
greater_equal = binary("greater_equal", operator.ge)
logical_and = binary("logical_and", torch.logical_and, promote=promotion.strict)
logical_or = binary("logical_or", torch.logical_or, promote=promotion.strict)
logical_xor = binary("logical_xor", torch.logical_xor, promote=promotion.strict)
logical_not = define("logical_not", torch.logical_not, ("x",))
bitwise_and = binary("bitwise_and", operator.and_)
bitwise_or = binary("bitwise_or", operator.or_)
bitwise_xor = binary("bitwise_xor", operator.xor)
bitwise_not = define("bitwise_not", torch.bitwise_not, ("x",))


def _shift(name: str, fn: Callable[[Any, Any], Any]) -> Callable[..., Tensor]:
    def compute(x: Any, y: Any, is_arithmetic: bool = True) -> Tensor:
        x, y = promotion.align(x, y)
        dtype = torch.result_type(x, y)
        if dtype.is_floating_point or dtype.is_complex:
            raise UnsupportedDtype(
                f"{name}: both sides must hold integers, but received "
                f"{str(dtype).removeprefix('torch.')}"
            )
        shifted: Tensor = fn(x, y)
        return (
            shifted if is_arithmetic or fn is operator.lshift else _clear_sign_fill(shifted, x, y)
        )

    return compute


def _clear_sign_fill(shifted: Tensor, x: Any, y: Any) -> Tensor:
    """Turn an arithmetic right shift into a logical one: the bits that came in from the left become
    zero.
    """
    if shifted.dtype is torch.uint8:
        return shifted
    bits = shifted.dtype.itemsize * 8
    ones = torch.full_like(shifted, -1)
    counts = torch.as_tensor(y, dtype=shifted.dtype, device=shifted.device).expand_as(shifted)
    kept = torch.where(counts == 0, ones, ~(ones << (bits - counts)))
    return shifted & torch.where((counts < 0) | (counts >= bits), torch.zeros_like(kept), kept)


bitwise_left_shift = define("bitwise_left_shift", _shift("bitwise_left_shift", operator.lshift))
bitwise_right_shift = define("bitwise_right_shift", _shift("bitwise_right_shift", operator.rshift))


@op("equal_all")
def equal_all(x: Tensor, y: Tensor) -> Tensor:
    """Whether shapes and all values are equal, as a 0-d bool tensor."""
    if x.shape != y.shape:
        return torch.zeros((), dtype=torch.bool, device=x.device)
    if x.dtype is not y.dtype:
        raise UsageError(
            f"equal_all: x is {x.dtype} and y is {y.dtype}; cast one of them".replace("torch.", "")
        )
    return torch.eq(x, y).all()


@op("isclose", types=("isclose(Input, Other, rtol/Rtol:text, atol/Atol:text, equal_nan)",))
def isclose(
    x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    return torch.isclose(x, y, rtol, atol, equal_nan)


@op("allclose", types=("allclose(Input, Other, rtol/Rtol:text, atol/Atol:text, equal_nan)",))
def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all values are close, as a 0-d bool tensor."""
    return torch.isclose(x, y, rtol, atol, equal_nan).all()


@op("is_empty")
def is_empty(x: Tensor) -> Tensor:
    return torch.full((), x.numel() == 0, dtype=torch.bool, device=x.device)


@op("isin")
def isin(x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False) -> Tensor:
    x, test_x = promotion.align(x, test_x)
    return torch.isin(x, test_x, assume_unique=assume_unique, invert=invert)
