"""``fluid.core``: what dygraph scripts take from Paddle's C++ module."""

from __future__ import annotations

from argosy.device import device_count, is_compiled_with_cuda
from argosy.distributed._data_parallel import ParallelStrategy
from argosy.fluid._missing import missing_names
from argosy.foundation import dtypes
from argosy.foundation.errors import ArgosyError
from argosy.foundation.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place
from argosy.tensor._tensor import Tensor

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "EnforceNotMet",
    "ParallelStrategy",
    "Place",
    "VarBase",
    "VarDesc",
    "get_cuda_device_count",
    "is_compiled_with_cuda",
]

VarBase = Tensor
EnforceNotMet = ArgosyError


class EOFException(Exception):
    """A reader of a static program has no more data."""


class VarDesc:
    """Holds ``VarType``, the dtypes under the names of 1.x."""

    class VarType:
        BOOL = dtypes.bool_
        INT8 = dtypes.int8
        UINT8 = dtypes.uint8
        INT16 = dtypes.int16
        INT32 = dtypes.int32
        INT64 = dtypes.int64
        FP16 = dtypes.float16
        FP32 = dtypes.float32
        FP64 = dtypes.float64


def get_cuda_device_count() -> int:
    """The number of GPUs that PyTorch sees."""
    return device_count() if is_compiled_with_cuda() else 0


__getattr__ = missing_names(__name__, globals())
