"""Paddle's type promotion for binary ops, on raw tensors.

Floats promote with floats and complex with real numbers. Tensors of different integer types, or an integer tensor with a
floating one, are an error unless one of them is 0-d or a Python number, which never widens the other within its kind.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError


def check(x: Any, y: Any) -> None:
    """Raise ``DtypeError`` where Paddle refuses to mix the dtypes of ``x`` and ``y``."""
    if not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)):
        return
    a, b = x.dtype, y.dtype
    if a is b or x.ndim == 0 or y.ndim == 0:
        return
    if a.is_complex or b.is_complex or (a.is_floating_point and b.is_floating_point):
        return
    raise DtypeError(
        "(InvalidType) Type promotion only support calculations between floating-point numbers and between complex and "
        f"real numbers. But got different data type x: {dtypes.name_of(a)}, y: {dtypes.name_of(b)}. "
        "Cast one of them with astype()."
    )
