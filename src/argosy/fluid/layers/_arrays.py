"""Arrays of tensors, which loops of 1.x fill and read by index. In dygraph they are Python
lists.
"""

from __future__ import annotations

from typing import Any

from argosy.fluid._mode import is_static
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, OutOfRange
from argosy.static.ir.variable import Variable
from argosy.static.record import arrays
from argosy.static.record.arrays import ArrayVariable


def create_array(dtype: Any) -> Any:
    """An empty array for tensors of ``dtype``."""
    return arrays.record_array(dtypes.to_torch(dtype)) if is_static() else []


def array_write(x: Any, i: Any, array: Any = None) -> Any:
    """Put ``x`` at index ``i`` of ``array``, or of a new array; ``i`` is at most one behind the
    last element.
    """
    array = create_array(x.dtype) if array is None else array
    if is_static():
        _require(array, ArrayVariable, "array_write: array must be made by create_array")
        _require(x, Variable, "array_write: x must be a Variable")
        arrays.record_write(array, i, x)
        return array
    _require(array, list, "array_write: array must be made by create_array")
    position = int(i)
    if not 0 <= position <= len(array):
        raise OutOfRange(f"array_write: index {position} of an array of {len(array)} elements")
    array[position : position + 1] = [x]
    return array


def array_read(array: Any, i: Any) -> Any:
    """The tensor at index ``i``."""
    if is_static():
        _require(array, ArrayVariable, "array_read: array must be made by create_array")
        return arrays.record_read(array, i)
    _require(array, list, "array_read: array must be made by create_array")
    position = int(i)
    if not 0 <= position < len(array):
        raise OutOfRange(f"array_read: index {position} of an array of {len(array)} elements")
    return array[position]


def array_length(array: Any) -> Any:
    """The number of tensors, as a tensor of shape [1]; in dygraph a number."""
    if is_static():
        _require(array, ArrayVariable, "array_length: array must be made by create_array")
        return arrays.record_length(array)
    _require(array, list, "array_length: array must be made by create_array")
    return len(array)


def _require(value: Any, kind: type, message: str) -> None:
    if not isinstance(value, kind):
        raise DtypeError(f"{message}, but received {type(value).__name__}")


__all__ = ["array_length", "array_read", "array_write", "create_array"]
