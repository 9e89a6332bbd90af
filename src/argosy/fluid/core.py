"""``fluid.core``: what scripts take from Paddle's C++ module."""

from __future__ import annotations

import enum

from argosy.device import device_count, is_compiled_with_cuda
from argosy.foundation import dtypes
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
