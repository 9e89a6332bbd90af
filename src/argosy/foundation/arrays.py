"""Arrays from what a file says of them: element type, shape and bytes, checked before memory is
taken.

Only plain elements exist here: truth values, numbers, texts and raw bytes. Nothing that is read
becomes a pointer or a field.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_CODE = re.compile(r"(\?)|([biufcSUV])(\d{1,9})")
_SIZES = {"b": {1}, "i": {1, 2, 4, 8}, "u": {1, 2, 4, 8}, "f": {2, 4, 8, 16}, "c": {8, 16, 32}}
_ORDERS = {"<", ">", "=", "|"}
_MAX_RANK = 32  # what NumPy 1 and torch both have
_MAX_EXTENT = 2**31  # of an array without elements, whose shape takes no bytes in the file
_MAX_BYTES = 2**62

_rebuild: Any = np.zeros(0).__reduce__()[0]


class BadArray(ValueError):
    """What was read does not describe a plain array."""


def dtype_of(code: Any, order: Any = "=") -> np.dtype[Any]:
    """The dtype that NumPy writes as ``code`` (such as ``f4`` or ``U16``) in byte order
    ``order``.
    """
    match = _CODE.fullmatch(code) if type(code) is str and len(code) < 16 else None
    if match is None or type(order) is not str or order not in _ORDERS:
        raise BadArray("an element type other than a number, a truth value, a text or raw bytes")
    kind, size = ("b", 1) if match[1] else (match[2], int(match[3]))
    if kind in _SIZES and size not in _SIZES[kind]:
        raise BadArray(f"an element type {code!r}, which does not exist")
    there: Any = "=" if order == "|" else order
    return np.dtype(f"{kind}{size}").newbyteorder(there)


def bytes_of(shape: Any, itemsize: int) -> int:
    """How many bytes an array of that shape takes; BadArray for a shape that no array has."""
    if not isinstance(shape, (tuple, list)) or len(shape) > _MAX_RANK:
        raise BadArray(f"a shape that is no tuple of at most {_MAX_RANK} extents")
    extent, is_empty = 1, False
    for size in shape:
        if type(size) is not int or not 0 <= size < _MAX_BYTES:
            raise BadArray("a shape with an extent that is no size")
        is_empty = is_empty or size == 0
        extent *= max(size, 1)
        if extent * itemsize > _MAX_BYTES:
            raise BadArray("a shape of more bytes than a machine can have")
    if is_empty and extent > _MAX_EXTENT:
        raise BadArray("a shape without elements, but with a gigantic extent")
    return 0 if is_empty else extent * itemsize


def array_from(
    shape: Any,
    dtype: np.dtype[Any],
    data: bytes | bytearray,
    is_fortran: bool = False,
    may_keep: bool = False,
) -> Array:
    """A writable array of the elements in ``data``, which must have the bytes of exactly that many.

    ``may_keep`` lets the array live in the memory of ``data``, which nobody else may use then.
    """
    if (
        dtype.kind not in "biufcSUV"
        or dtype.hasobject
        or dtype.names is not None
        or dtype.subdtype is not None
    ):
        raise BadArray("an array that is not one of numbers, truth values, texts or raw bytes")
    wanted = bytes_of(shape, dtype.itemsize)
    if dtype.itemsize == 0:
        raise BadArray("an array whose elements have no bytes")
    if len(data) != wanted:
        raise BadArray(f"an array of {wanted} bytes with {len(data)} bytes of elements")
    shape = tuple(shape)
    array: Any
    if may_keep and type(data) is bytes:
        array = _rebuild(np.ndarray, (0,), b"b")
        # the one way to a writable array over bytes
        array.__setstate__((1, shape, dtype, is_fortran, data))
    else:
        memory = data if may_keep else bytearray(data)
        array = np.ndarray(shape, dtype, memory, order="F" if is_fortran else "C")
    check_elements(array)
    return array


def check_elements(array: Array) -> None:
    """BadArray for a truth value or a text that does not exist, and would fail far from here."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise BadArray("truth values other than 0 and 1")
    if array.dtype.kind == "U" and array.size:
        points = array.ravel("K").view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if points.max() > 0x10FFFF:
            raise BadArray("a text with characters that do not exist")


def scalar_from(dtype: np.dtype[Any], data: bytes) -> Any:
    """One element, as NumPy's scalar."""
    if dtype.itemsize == 0 and dtype.kind in "SU" and not data:
        return dtype.type()
    return array_from((1,), dtype, data)[0]
