"""Comparisons, logical and bitwise ops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor

from argosy.ops import promotion
from argosy.ops.table import Op, define


def _binary(name: str, fn: Callable[[Any, Any], Any]) -> Op:
    def compute(x: Any, y: Any) -> Tensor:
        promotion.check(x, y)
        return fn(x, y)

    return define(name, compute)


equal = _binary("equal", operator.eq)
not_equal = _binary("not_equal", operator.ne)
less_than = _binary("less_than", operator.lt)
less_equal = _binary("less_equal", operator.le)
greater_than = _binary("greater_than", operator.gt)
greater_equal = _binary("greater_equal", operator.ge)
bitwise_and = _binary("bitwise_and", operator.and_)
bitwise_or = _binary("bitwise_or", operator.or_)
bitwise_xor = _binary("bitwise_xor", operator.xor)
bitwise_left_shift = _binary("bitwise_left_shift", operator.lshift)
bitwise_right_shift = _binary("bitwise_right_shift", operator.rshift)
bitwise_not = define("bitwise_not", operator.invert, ("x",))
