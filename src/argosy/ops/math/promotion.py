"""Paddle's type promotion for binary ops, on raw tensors.

Floats promote with floats and complex with real numbers. Tensors of different integer types, or an
integer tensor with a floating one, are an error unless one of them is 0-d or a Python number, which
never widens the other within its kind.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError


def align(x: Any, y: Any) -> tuple[Any, Any]:
    """Return ``x`` and ``y`` so that torch gives Paddle's result dtype; raise ``DtypeError`` where
    Paddle refuses.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return (x, y) if x.dtype is y.dtype else _mix(x, y)
    if type(y) is complex or type(x) is complex:
        return _full_precision(x), _full_precision(y)
    return x, y


def widen(x: Any, y: Any) -> tuple[Any, Any]:
    """``align`` for an op in which a 0-d tensor widens like any other."""
    x, y = align(x, y)
    return _common(x, y)


def strict(x: Any, y: Any) -> tuple[Any, Any]:
    """``widen`` for an op in which not even a 0-d tensor may be of another integer type."""
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype is not y.dtype:
        if not (
            x.is_complex() or y.is_complex() or (x.is_floating_point() and y.is_floating_point())
        ):
            raise _refusal(x, y)
        return _common(x, y)
    return x, y


def number(value: Any, dtype: torch.dtype) -> Any:
    """A Python number as the element type ``dtype`` holds it: integers drop the fraction."""
    if isinstance(value, Tensor) or dtype.is_floating_point or dtype.is_complex:
        return value
    return bool(value) if dtype is torch.bool else int(value)


def _mix(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x.dtype, y.dtype
    if a.is_complex or b.is_complex:
        # Between complex and real, double precision wins even if it is 0-d; torch follows the other
        # one.
        if a.is_complex is not b.is_complex and not {a, b}.isdisjoint(
            {torch.float64, torch.complex128}
        ):
            return x.to(torch.complex128), y.to(torch.complex128)
        return _full_precision(x), _full_precision(y)
    if (x.ndim > 0 and y.ndim > 0) and not (a.is_floating_point and b.is_floating_point):
        raise _refusal(x, y)
    return x, y


def _refusal(x: Tensor, y: Tensor) -> DtypeError:
    return DtypeError(
        "(InvalidType) Type promotion only support calculations between floating-point numbers "
        "and between complex "
        f"and real numbers. But got different data type x: {dtypes.name_of(x.dtype)}, y: "
        f"{dtypes.name_of(y.dtype)}. "
        "Cast one of them with astype()."
    )


def _common(x: Any, y: Any) -> tuple[Any, Any]:
    """Both tensors in the dtype that holds either, whatever their rank."""
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype is not y.dtype:
        dtype = torch.promote_types(x.dtype, y.dtype)
        return x.to(dtype), y.to(dtype)
    return x, y


def _full_precision(value: Any) -> Any:
    """Half-precision tensors as float32: there are no complex numbers of half precision."""
    if isinstance(value, Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.to(torch.float32)
    return value
