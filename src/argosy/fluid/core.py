"""``fluid.core``: what scripts take from Paddle's C++ module."""

from __future__ import annotations

import enum
from typing import Any

from argosy.device import device_count, is_compiled_with_cuda
from argosy.foundation import dtypes
from argosy.framework import get_flags, set_flags
from argosy.framework.flag_table import DEFAULTS
from argosy.static.ir.variable import Variable


class VarDesc:
    """Holds ``VarType``: dtypes, and the kinds of variables that ``Variable.type`` tells, under the
    names of 1.x.
    """

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

        LOD_TENSOR = Variable.type
        # Kinds of which a program here has no variables.
        FEED_MINIBATCH = "feed_minibatch"
        FETCH_LIST = "fetch_list"
        LOD_RANK_TABLE = "lod_rank_table"
        LOD_TENSOR_ARRAY = "lod_tensor_array"
        RAW = "raw"
        READER = "reader"
        SELECTED_ROWS = "selected_rows"
        STEP_SCOPES = "step_scopes"


class op_proto_and_checker_maker:
    """What the attributes ``op_role`` and the like of an operator mean."""

    class OpRole(enum.IntFlag):
        Forward = 0
        Backward = 1
        Optimize = 2
        RPC = 4
        Dist = 8
        LRSched = 16
        Loss = 256

    @staticmethod
    def kOpRoleAttrName() -> str:
        return "op_role"

    @staticmethod
    def kOpRoleVarAttrName() -> str:
        return "op_role_var"

    @staticmethod
    def kOpNameScopeAttrName() -> str:
        return "op_namescope"

    @staticmethod
    def kOpDeviceAttrName() -> str:
        return "op_device"


def get_cuda_device_count() -> int:
    """The number of GPUs that PyTorch sees."""
    return device_count() if is_compiled_with_cuda() else 0


class GlobalFlags:
    """The flags by name; setting one is ``set_flags``."""

    def __getitem__(self, name: str) -> Any:
        return get_flags(name)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        set_flags({name: value})

    def __contains__(self, name: str) -> bool:
        return name in DEFAULTS

    def keys(self) -> set[str]:
        """The names."""
        return set(DEFAULTS)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a flag, or ``default`` if there is none of this name."""
        return get_flags(name)[name] if name in DEFAULTS else default


def globals() -> GlobalFlags:
    """The flags, as ``set_flags`` and ``get_flags`` know them."""
    return GlobalFlags()


def _set_eager_deletion_mode(threshold: float, fraction: float, fast_mode: bool) -> None:
    """Set the flags for when memory is given back; a run here does so after the last use."""
    set_flags(
        {
            "FLAGS_eager_delete_tensor_gb": float(threshold),
            "FLAGS_memory_fraction_of_eager_deletion": float(fraction),
            "FLAGS_fast_eager_deletion_mode": bool(fast_mode),
        }
    )


def _set_fuse_parameter_group_size(size: int) -> None:
    """Set the flag for how many gradients are sent together; buckets decide it here."""
    set_flags({"FLAGS_fuse_parameter_groups_size": int(size)})


def _set_fuse_parameter_memory_size(size: float) -> None:
    """Set the flag for how large gradients that are sent together may be."""
    set_flags({"FLAGS_fuse_parameter_memory_size": float(size)})


def _get_fuse_parameter_group_size() -> int:
    return int(get_flags("FLAGS_fuse_parameter_groups_size")["FLAGS_fuse_parameter_groups_size"])


def _get_fuse_parameter_memory_size() -> float:
    return float(get_flags("FLAGS_fuse_parameter_memory_size")["FLAGS_fuse_parameter_memory_size"])
