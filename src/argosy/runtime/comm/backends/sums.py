"""The compiled loops that combine what came from several hosts. Nothing is contracted to fused
operations: results are the same on every kind of processor.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)
def add_two(first: Any, second: Any, weight_1: float, weight_2: float, out: Any) -> None:
    """``out = first * weight_1 + second * weight_2``; ``out`` may be one of them."""
    w_1, w_2 = out.dtype.type(weight_1), out.dtype.type(weight_2)
    for i in range(out.size):
        out[i] = first[i] * w_1 + second[i] * w_2


@numba.njit(nogil=True, cache=True)
def add_to(total: Any, part: Any, weight: float) -> None:
    """``total += part * weight``."""
    w = total.dtype.type(weight)
    for i in range(total.size):
        total[i] = total[i] + part[i] * w
