"""The kinds of precision, place and data that predictors speak of; their class names are those that
Paddle prints.
"""

from __future__ import annotations

import enum
from typing import TypeVar

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported

T = TypeVar("T")


class _Kind(enum.Enum):
    """Equal to none but itself, and yet a number if asked for one."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class Precision(_Kind):
    """What an engine computes in."""

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


class PaddlePlace(_Kind):
    """Where a tensor lies."""

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 4


class PaddleDataLayout(_Kind):
    """In which order a tensor of images has its axes."""

    UNK = -1
    Any = 0
    NHWC = 1
    NCHW = 2


class PaddleDType(_Kind):
    """What a tensor consists of."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    FLOAT16 = 5
    BOOL = 6
    FLOAT64 = 7
    BFLOAT16 = 8

    @property
    def torch_dtype(self) -> torch.dtype:
        return _TORCH[self]

    @staticmethod
    def of(dtype: torch.dtype) -> PaddleDType:
        """The kind of a torch dtype."""
        if dtype not in _KINDS:
            raise NotSupported(
                f"paddle.inference: tensors of {dtypes.name_of(dtype)} have no DataType; cast "
                "before what is fetched"
            )
        return _KINDS[dtype]


_TORCH = {
    PaddleDType.FLOAT32: torch.float32,
    PaddleDType.INT64: torch.int64,
    PaddleDType.INT32: torch.int32,
    PaddleDType.UINT8: torch.uint8,
    PaddleDType.INT8: torch.int8,
    PaddleDType.FLOAT16: torch.float16,
    PaddleDType.BOOL: torch.bool,
    PaddleDType.FLOAT64: torch.float64,
    PaddleDType.BFLOAT16: torch.bfloat16,
}
_KINDS = {dtype: kind for kind, dtype in _TORCH.items()}


def get_num_bytes_of_data_type(dtype: PaddleDType) -> int:
    """How many bytes an element takes."""
    return expected("get_num_bytes_of_data_type", "dtype", dtype, PaddleDType).torch_dtype.itemsize


def expected(call: str, argument: str, value: object, kind: type[T]) -> T:
    """``value``, which must be a ``kind``: Paddle's predictors convert nothing."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise DtypeError(
            f"{call}: {argument} must be a {kind.__name__}, but received {type(value).__name__}"
        )
    return value
