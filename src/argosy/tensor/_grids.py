"""Matrices and grids made from vectors, and parts of matrices; ``creation`` exports them."""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import creation as ops
from argosy.tensor._core.arguments import store
from argosy.tensor._core.defaults import defaults
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._shapes import int_attr

__all__ = [
    "complex", "diag", "diag_embed", "diagflat", "meshgrid", "polar", "tril", "tril_",
    "tril_indices", "triu", "triu_",
    "triu_indices", "vander",
]  # fmt: skip


def meshgrid(*args: Any, **kwargs: Any) -> Any:
    """Grids of coordinates from 1-D tensors, given one by one or as a list; the first varies along
    the first axis.
    """
    inputs = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return apply(ops.meshgrid, list(inputs))


def diag(x: Any, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Any:
    """Put a vector on the diagonal of a matrix, or read the diagonal of a matrix."""
    return apply(ops.diag, x, offset, padding_value)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Make matrices whose diagonals are the vectors along the last axis, laid over ``dim1`` and
    ``dim2``.
    """
    x = input if isinstance(input, Tensor) else Tensor(input)
    return apply(ops.diag_embed, x, offset, dim1, dim2)


def diagflat(x: Any, offset: int = 0, name: str | None = None) -> Any:
    """Put the flattened elements of ``x`` on the diagonal of a matrix."""
    return apply(ops.diagflat, x, offset)


def tril(x: Any, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Any:
    """Keep the lower triangle of the last two axes, zero the rest."""
    return store(out, apply(ops.tril, x, diagonal), "tril")


def triu(x: Any, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Any:
    """Keep the upper triangle of the last two axes, zero the rest."""
    return store(out, apply(ops.triu, x, diagonal), "triu")


tril_ = make_inplace(tril)
triu_ = make_inplace(triu)


def tril_indices(row: int, col: int, offset: int = 0, dtype: Any = "int64") -> Any:
    """Rows and columns of the lower triangle of a ``row`` by ``col`` matrix, as a tensor of shape
    [2, n].
    """
    return _triangle(ops.tril_indices, row, col, offset, dtype)


def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Any:
    """Rows and columns of the upper triangle of a ``row`` by ``col`` matrix, as a tensor of shape
    [2, n].
    """
    return _triangle(ops.triu_indices, row, row if col is None else col, offset, dtype)


def _triangle(op: Any, row: Any, col: Any, offset: Any, dtype: Any) -> Any:
    for label, value in (("row", row), ("col", col)):
        if not isinstance(value, int) or value < 0:
            raise DtypeError(
                f"{op.name}: {label} should be a non-negative int, but received {value!r}"
            )
    return apply(op, row, col, int_attr(offset, op.name), to_torch(dtype), defaults.device)


def complex(real: Any, imag: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Make complex numbers from their real and imaginary parts, with broadcasting."""
    return store(out, apply(ops.complex, real, imag), "complex")


def polar(abs: Any, angle: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Make complex numbers from their absolute values and angles in radians."""
    return store(out, apply(ops.polar, abs, angle), "polar")


def vander(x: Any, n: int | None = None, increasing: bool = False, name: str | None = None) -> Any:
    """Make the matrix whose columns are powers of ``x``, the highest first unless
    ``increasing``.
    """
    if len(x.shape) != 1:
        raise UsageError(f"vander: x must be 1-D, but its shape is {x.shape}")
    if n is None:
        n = x.shape[0]
    if n < 0:
        raise UsageError(f"vander: n must be non-negative, but is {n}")
    return apply(ops.vander, x, n, increasing)
