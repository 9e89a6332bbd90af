"""What a tensor is: its shape, rank, kind of dtype and parts of complex numbers."""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import DType
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import manipulation as ops
from argosy.tensor._core import conversion as _conversion  # noqa: F401  (binds methods)
from argosy.tensor._core.face import unary
from argosy.tensor._core.tensor import Tensor, apply

__all__ = [
    "imag",
    "is_complex",
    "is_floating_point",
    "is_integer",
    "numel",
    "rank",
    "real",
    "shape",
]


def shape(input: Any) -> Any:
    """The shape as an int64 Tensor."""
    if not isinstance(input, Tensor):
        raise UsageError(
            f"shape: argument 'input' must be a Tensor, but received {type(input).__name__}"
        )
    return apply(ops.shape, input)


def rank(input: Any) -> Any:
    """The number of dimensions as a 0-D int32 Tensor."""
    return apply(ops.rank, input)


def numel(x: Any, name: str | None = None) -> Any:
    """The number of elements as a 0-D int64 Tensor."""
    return apply(ops.numel, x)


real = unary(ops.real, "The real part.")
imag = unary(ops.imag, "The imaginary part.")


def _dtype_of(x: Any) -> DType:
    if not isinstance(x, Tensor):
        raise DtypeError(f"Expected Tensor, but received type of x: {type(x)}")
    return x.dtype


def is_complex(x: Any) -> bool:
    """Whether the elements are complex numbers."""
    return _dtype_of(x).is_complex


def is_floating_point(x: Any) -> bool:
    """Whether the elements are floating-point numbers."""
    return _dtype_of(x).is_floating_point


def is_integer(x: Any) -> bool:
    """Whether the elements are integers; bool does not count as one."""
    return _dtype_of(x).is_integer


TENSOR_METHODS = [name for name in __all__ if name != "shape"]
