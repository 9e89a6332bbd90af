"""The functions of ``paddle.complex`` of 1.8, for complex tensors.

1.8 has pairs of real variables, ComplexVariable; here ``to_variable`` of a complex array is a
tensor of complex numbers, which all functions of today take. These take nothing else, or one of it.
"""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers import nn
from argosy.fluid.table import at_least_1d
from argosy.foundation.errors import UsageError
from argosy.tensor.engine import Tensor

__all__ = [
    "elementwise_add", "elementwise_div", "elementwise_mul", "elementwise_sub", "kron", "matmul",
    "reshape", "sum", "trace", "transpose",
]  # fmt: skip


def is_complex(x: Any) -> bool:
    """Whether ``x`` is a tensor of complex numbers."""
    return isinstance(x, Tensor) and T.is_complex(x)


def is_real(x: Any) -> bool:
    """Whether ``x`` is a tensor of other numbers."""
    return isinstance(x, Tensor) and not T.is_complex(x)


def complex_variable_exists(inputs: Any, layer_name: str) -> None:
    """Raise unless one of ``inputs`` is complex."""
    if not any(map(is_complex, inputs)):
        found = ", ".join(str(getattr(x, "dtype", type(x).__name__)) for x in inputs)
        raise UsageError(
            f"complex.{layer_name}: none of its inputs is complex, but {found}. For real numbers "
            f"use fluid.layers."
        )


def elementwise_add(x: Any, y: Any, axis: int = -1, name: str | None = None) -> Any:
    """The sum; ``axis`` says where the axes of ``y`` begin among those of ``x``."""
    complex_variable_exists([x, y], "elementwise_add")
    return nn.elementwise_add(x, y, axis, name=name)


def elementwise_sub(x: Any, y: Any, axis: int = -1, name: str | None = None) -> Any:
    """The difference; ``axis`` as in ``elementwise_add``."""
    complex_variable_exists([x, y], "elementwise_sub")
    return nn.elementwise_sub(x, y, axis, name=name)


def elementwise_mul(x: Any, y: Any, axis: int = -1, name: str | None = None) -> Any:
    """The product; ``axis`` as in ``elementwise_add``."""
    complex_variable_exists([x, y], "elementwise_mul")
    return nn.elementwise_mul(x, y, axis, name=name)


def elementwise_div(x: Any, y: Any, axis: int = -1, name: str | None = None) -> Any:
    """The quotient; ``axis`` as in ``elementwise_add``."""
    complex_variable_exists([x, y], "elementwise_div")
    return nn.elementwise_div(x, y, axis, name=name)


def kron(x: Any, y: Any, name: str | None = None) -> Any:
    """The Kronecker product."""
    complex_variable_exists([x, y], "kron")
    return T.kron(x, y)


def matmul(
    x: Any,
    y: Any,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Any:
    """The product of matrices, times ``alpha``."""
    complex_variable_exists([x, y], "matmul")
    x, y = (v if is_complex(v) else T.cast(v, w.dtype) for v, w in ((x, y), (y, x)))
    return nn.matmul(x, y, transpose_x, transpose_y, alpha)


def reshape(x: Any, shape: Any, inplace: bool = False, name: str | None = None) -> Any:
    """Another shape; -1 stands for what is left, 0 for the extent that ``x`` has there."""
    complex_variable_exists([x], "reshape")
    return T.reshape_(x, shape) if inplace else T.reshape(x, shape)


def sum(input: Any, dim: Any = None, keep_dim: bool = False, name: str | None = None) -> Any:
    """The sum over ``dim``, or over all elements, of shape [1]."""
    complex_variable_exists([input], "sum")
    return at_least_1d(T.sum(input, dim, keepdim=keep_dim))


def trace(
    input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Any:
    """The sum of a diagonal; that of a matrix has shape [1]."""
    complex_variable_exists([input], "trace")
    return at_least_1d(T.trace(input, offset, dim1, dim2))


def transpose(x: Any, perm: Any, name: str | None = None) -> Any:
    """The axes in the order ``perm``."""
    complex_variable_exists([x], "transpose")
    return T.transpose(x, perm)
