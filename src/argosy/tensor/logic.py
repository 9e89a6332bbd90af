"""Comparisons, logical and bitwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.ops.math import logic as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.arithmetic import binary_inplace, binary_with_out
from argosy.tensor._core.face import unary
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import Tensor, apply

__all__ = [
    "allclose", "bitwise_and", "bitwise_and_", "bitwise_invert", "bitwise_invert_",
    "bitwise_left_shift", "bitwise_left_shift_",
    "bitwise_not", "bitwise_not_", "bitwise_or", "bitwise_or_", "bitwise_right_shift",
    "bitwise_right_shift_", "bitwise_xor",
    "bitwise_xor_", "eq", "equal", "equal_", "equal_all", "ge", "greater", "greater_equal",
    "greater_equal_", "greater_than",
    "greater_than_", "gt", "is_empty", "is_tensor", "isclose", "isin", "le", "less", "less_",
    "less_equal", "less_equal_",
    "less_than", "less_than_", "logical_and", "logical_and_", "logical_not", "logical_not_",
    "logical_or", "logical_or_",
    "logical_xor", "logical_xor_", "lt", "ne", "not_equal", "not_equal_",
]  # fmt: skip


def _bitwise(op: Op, doc: str) -> Callable[..., Any]:
    def face(x: Any, y: Any, out: Any = None, name: str | None = None) -> Any:
        return store(out, apply(op, x, y), op.name)

    face.__name__ = face.__qualname__ = op.name
    face.__doc__ = doc
    return face


equal = binary_with_out(
    ops.equal,
    "Whether x == y, exactly; y may be a number. Differs from Paddle: there, floats closer than "
    "1e-8 are equal.",
)
not_equal = binary_with_out(ops.not_equal, "Whether x != y, element by element; y may be a number.")
less_than = binary_with_out(ops.less_than, "Whether x < y, element by element; y may be a number.")
less_equal = binary_with_out(
    ops.less_equal, "Whether x <= y, element by element; y may be a number."
)
greater_than = binary_with_out(
    ops.greater_than, "Whether x > y, element by element; y may be a number."
)
greater_equal = binary_with_out(
    ops.greater_equal, "Whether x >= y, element by element; y may be a number."
)
eq, ne, lt, le, gt, ge = equal, not_equal, less_than, less_equal, greater_than, greater_equal
less, greater = less_than, greater_than

logical_and = binary_with_out(ops.logical_and, "Whether both are non-zero.")
logical_or = binary_with_out(ops.logical_or, "Whether one is non-zero.")
logical_xor = binary_with_out(ops.logical_xor, "Whether exactly one is non-zero.")
bitwise_and = _bitwise(ops.bitwise_and, "The bits set in both integers or booleans.")
bitwise_or = _bitwise(ops.bitwise_or, "The bits set in one of two integers or booleans.")
bitwise_xor = _bitwise(ops.bitwise_xor, "The bits set in exactly one of two integers or booleans.")


def logical_not(x: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Whether each element is zero."""
    return store(out, apply(ops.logical_not, x), "logical_not")


def bitwise_not(x: Any, out: Any = None, name: str | None = None) -> Any:
    """Flip every bit of integers, or booleans."""
    return store(out, apply(ops.bitwise_not, x), "bitwise_not")


def bitwise_invert(x: Any, out: Any = None, name: str | None = None) -> Any:
    """Flip every bit of integers, or booleans."""
    return store(out, apply(ops.bitwise_not, x), "bitwise_invert")


def bitwise_left_shift(
    x: Any, y: Any, is_arithmetic: bool = True, out: Any = None, name: str | None = None
) -> Any:
    """Move the bits of ``x`` by ``y`` places to the left."""
    return store(out, apply(ops.bitwise_left_shift, x, y, is_arithmetic), "bitwise_left_shift")


def bitwise_right_shift(
    x: Any, y: Any, is_arithmetic: bool = True, out: Any = None, name: str | None = None
) -> Any:
    """Move the bits of ``x`` by ``y`` places to the right; the sign comes in from the left if
    ``is_arithmetic``.
    """
    return store(out, apply(ops.bitwise_right_shift, x, y, is_arithmetic), "bitwise_right_shift")


def equal_all(x: Any, y: Any, name: str | None = None) -> Any:
    """Whether shapes and all values are equal, as a 0-d bool tensor."""
    return apply(ops.equal_all, x, y)


def isclose(
    x: Any,
    y: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    name: str | None = None,
) -> Any:
    """Whether ``abs(x - y) <= atol + rtol * abs(y)``, element by element.

    Example:
        >>> import paddle
        >>> paddle.isclose(paddle.to_tensor([1.0, 1.1]), paddle.to_tensor([1.000001, 1.0])).tolist()
        [True, False]
    """
    return apply(ops.isclose, x, y, float(rtol), float(atol), equal_nan)


def allclose(
    x: Any,
    y: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    name: str | None = None,
) -> Any:
    """Whether ``isclose`` holds for all elements, as a 0-d bool tensor."""
    return apply(ops.allclose, x, y, float(rtol), float(atol), equal_nan)


def isin(
    x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False, name: str | None = None
) -> Any:
    """Whether each element of ``x`` occurs in ``test_x`` (or, with ``invert``, does not).

    Example:
        >>> import paddle
        >>> paddle.isin(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([2, 3])).tolist()
        [False, True, True]
    """
    return apply(ops.isin, x, test_x, assume_unique, invert)


is_empty = unary(ops.is_empty, "Whether the tensor has no elements, as a 0-d bool tensor.")


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a Tensor."""
    return isinstance(x, Tensor)


equal_ = binary_inplace(equal, "equal_")
not_equal_ = binary_inplace(not_equal, "not_equal_")
less_than_ = binary_inplace(less_than, "less_than_")
less_ = binary_inplace(less_than, "less_")
less_equal_ = binary_inplace(less_equal, "less_equal_")
greater_than_ = binary_inplace(greater_than, "greater_than_")
greater_equal_ = binary_inplace(greater_equal, "greater_equal_")
logical_and_ = binary_inplace(logical_and, "logical_and_")
logical_or_ = binary_inplace(logical_or, "logical_or_")
logical_xor_ = binary_inplace(logical_xor, "logical_xor_")
logical_not_ = make_inplace(logical_not)
bitwise_and_ = binary_inplace(bitwise_and, "bitwise_and_")
bitwise_or_ = binary_inplace(bitwise_or, "bitwise_or_")
bitwise_xor_ = binary_inplace(bitwise_xor, "bitwise_xor_")
bitwise_not_ = make_inplace(bitwise_not)
bitwise_invert_ = make_inplace(bitwise_invert)
bitwise_left_shift_ = binary_inplace(bitwise_left_shift, "bitwise_left_shift_")
bitwise_right_shift_ = binary_inplace(bitwise_right_shift, "bitwise_right_shift_")

TENSOR_METHODS = __all__
