"""PaddleTensor and PaddleBuf: what the predictors of 1.x take and return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.inference.kinds import PaddleDType
from argosy.static.ir.lod import Lod, LoDTensor

Array = np.ndarray[Any, Any]

_KEPT = ("int32", "int64", "float32", "float64", "float16", "uint8", "int8", "bool")


class PaddleBuf:
    """Bytes, of so many as were asked for or as an array has."""

    def __init__(self, data: int | Sequence[float] | Array = 0, copy: bool = True) -> None:
        self._bytes: Array = np.zeros(0, "uint8")
        if isinstance(data, (int, np.integer)):
            self.resize(int(data))
        elif copy:
            self.reset(data)
        else:
            self._bytes = _flat(data).view("uint8")

    def resize(self, length: int) -> None:
        """Have ``length`` bytes; what was there is lost if that is more than before."""
        if length > len(self._bytes):
            self._bytes = np.zeros(length, "uint8")
        self._bytes = self._bytes[:length]

    def reset(self, data: Sequence[float] | Array) -> None:
        """Take over a copy of the values; a list becomes float32."""
        new = _flat(data).view("uint8")
        if len(new) > len(self._bytes):
            self._bytes = np.zeros(len(new), "uint8")
        self._bytes[: len(new)] = new

    def empty(self) -> bool:
        return not len(self._bytes)

    def length(self) -> int:
        """How many bytes there are."""
        return len(self._bytes)

    def as_array(self, dtype: torch.dtype) -> Array:
        """The bytes as a flat array, without a copy."""
        return self._bytes.view(str(dtype).removeprefix("torch."))

    def tolist(self, dtype: str) -> list[Any]:
        if dtype not in ("int32", "int64", "float32"):
            raise UsageError(
                f"PaddleBuf.tolist: dtype must be int32, int64 or float32, but received {dtype!r}"
            )
        return list(self._bytes.view(dtype).tolist())

    def float_data(self) -> list[float]:
        return self.tolist("float32")

    def int32_data(self) -> list[int]:
        return self.tolist("int32")

    def int64_data(self) -> list[int]:
        return self.tolist("int64")


class PaddleTensor:
    """An array with the name of an input or output; ``data`` may share the memory of the array.

    Example:
        >>> import numpy, paddle
        >>> from paddle.base.core import PaddleTensor
        >>> tensor = PaddleTensor(numpy.ones((2, 3), "float32"), name="x")
        >>> tensor.shape, tensor.dtype
        ([2, 3], <PaddleDType.FLOAT32: 0>)
    """

    def __init__(
        self,
        data: Array | Sequence[Any] | None = None,
        name: str = "",
        lod: Sequence[Sequence[int]] = (),
        copy: bool = True,
    ) -> None:
        self.name = name
        self.lod: Lod = [list(level) for level in lod]
        self.shape: list[int] = []
        self.dtype = PaddleDType.FLOAT32
        self.data = PaddleBuf()
        if data is not None:
            array = _array(data)
            self.shape = list(array.shape)
            self.dtype = PaddleDType.of(torch.from_numpy(array[:0] if array.ndim else array).dtype)
            self.data = PaddleBuf(array, copy)

    def as_ndarray(self) -> Array:
        """The values, as an array of one's own."""
        return self._view().copy()

    def fed(self) -> Any:
        """What a program is fed: a torch tensor over these bytes, or a LoDTensor."""
        raw = torch.from_numpy(self._view())
        return LoDTensor(raw, self.lod) if self.lod else raw

    def _view(self) -> Array:
        flat = self.data.as_array(self.dtype.torch_dtype)
        count = int(np.prod(self.shape, dtype=np.int64))
        if len(flat) < count:
            raise UsageError(
                f"PaddleTensor {self.name!r}: shape {self.shape} needs {count} elements of "
                f"{self.dtype.name}, but data has {len(flat)}"
            )
        return flat[:count].reshape(self.shape)


def _array(data: Any) -> Array:
    array = np.ascontiguousarray(data) if np.ndim(data) else np.array(data)
    if array.dtype.name in _KEPT:
        return array
    if array.dtype.kind in "iu":
        return array.astype("int32")
    raise DtypeError(f"PaddleTensor: arrays of {array.dtype} are not supported; use astype")


def _flat(data: Any) -> Array:
    array = data if isinstance(data, np.ndarray) else np.array(data, "float32")
    return _array(array).reshape(-1)
