"""``fluid.core``, ``base.core``, ``framework.core``: what scripts take from Paddle's C++ module.

Facts about this build and machine, names that variables get, settings. What only C++ has (graphs of
the IR and their passes, registries of kernels, executors and tables by their inner classes) is not
here.
"""

from __future__ import annotations

import enum
import subprocess
from collections.abc import Mapping
from typing import Any

import torch

from argosy import device
from argosy.device import device_count, is_compiled_with_cuda
from argosy.fluid.op_protos import known_types, op_proto
from argosy.fluid.proto import framework_pb2
from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported, UsageError
from argosy.foundation.places import CPUPlace, Place
from argosy.framework import get_flags, set_flags
from argosy.framework.flag_table import DEFAULTS
from argosy.framework.primitives import primitives
from argosy.static.ir.variable import Variable

# -- dtypes and kinds of variables
# --------------------------------------------------------------------------------------------------


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
        BF16 = dtypes.bfloat16
        FP32 = dtypes.float32
        FP64 = dtypes.float64
        FP8_E4M3FN = dtypes.float8_e4m3fn
        FP8_E5M2 = dtypes.float8_e5m2
        COMPLEX64 = dtypes.complex64
        COMPLEX128 = dtypes.complex128

        LOD_TENSOR = DENSE_TENSOR = Variable.type
        # Kinds of which a program here has no variables.
        FEED_MINIBATCH = "feed_minibatch"
        FETCH_LIST = "fetch_list"
        LOD_RANK_TABLE = "lod_rank_table"
        LOD_TENSOR_ARRAY = DENSE_TENSOR_ARRAY = "lod_tensor_array"
        PLACE_LIST = "place_list"
        RAW = "raw"
        READER = "reader"
        SELECTED_ROWS = "selected_rows"
        SPARSE_COO = "sparse_coo"
        STEP_SCOPES = "step_scopes"
        STRING = "string"
        STRINGS = "strings"
        VOCAB = "vocab"


class DataType:
    """Dtypes under the names of 3.x."""

    UNDEFINED = None
    BOOL = dtypes.bool_
    INT8 = dtypes.int8
    UINT8 = dtypes.uint8
    INT16 = dtypes.int16
    INT32 = dtypes.int32
    INT64 = dtypes.int64
    FLOAT16 = dtypes.float16
    BFLOAT16 = UINT16 = dtypes.bfloat16
    FLOAT32 = dtypes.float32
    FLOAT64 = dtypes.float64
    FLOAT8_E4M3FN = dtypes.float8_e4m3fn
    FLOAT8_E5M2 = dtypes.float8_e5m2
    COMPLEX64 = dtypes.complex64
    COMPLEX128 = dtypes.complex128


class AttrType(enum.IntEnum):
    """What an attribute of an operator holds."""

    INT = framework_pb2.AttrType.INT
    FLOAT = framework_pb2.AttrType.FLOAT
    STRING = framework_pb2.AttrType.STRING
    INTS = framework_pb2.AttrType.INTS
    FLOATS = framework_pb2.AttrType.FLOATS
    STRINGS = framework_pb2.AttrType.STRINGS
    BOOL = framework_pb2.AttrType.BOOLEAN
    BOOLS = framework_pb2.AttrType.BOOLEANS
    BLOCK = framework_pb2.AttrType.BLOCK
    LONG = framework_pb2.AttrType.LONG
    BLOCKS = framework_pb2.AttrType.BLOCKS
    LONGS = framework_pb2.AttrType.LONGS
    FLOAT64S = framework_pb2.AttrType.FLOAT64S
    VAR = framework_pb2.AttrType.VAR
    VARS = framework_pb2.AttrType.VARS
    FLOAT64 = framework_pb2.AttrType.FLOAT64
    SCALAR = framework_pb2.AttrType.SCALAR
    SCALARS = framework_pb2.AttrType.SCALARS


class Scalar:
    """A number given as an attribute."""

    def __init__(self, value: bool | int | float | complex) -> None:
        self._value = value

    def value(self) -> bool | int | float | complex:
        return self._value


class DeviceType(enum.IntEnum):
    """The devices of a ``ParallelExecutor``."""

    CPU = 0
    CUDA = 1
    XPU = 3


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

    @staticmethod
    def kOpCreationCallstackAttrName() -> str:
        return "op_callstack"

    @staticmethod
    def kOpWithQuantAttrName() -> str:
        return "with_quant_attr"


# -- names of variables
# --------------------------------------------------------------------------------------------------


def grad_var_suffix() -> str:
    """What the name of a gradient ends with."""
    return "@GRAD"


kGradVarSuffix = grad_var_suffix


def empty_var_name() -> str:
    """The name that stands for no variable."""
    return "@EMPTY@"


kEmptyVarName = empty_var_name


def kTempVarName() -> str:
    return "@TEMP@"


def kZeroVarSuffix() -> str:
    return "@ZERO"


def kControlDepVarName() -> str:
    return "__control_var"


def loaded_var_suffix() -> str:
    """What 1.x appends to the name of a parameter that was loaded into dygraph."""
    return "@LOADED"


# -- this build and this machine
# --------------------------------------------------------------------------------------------------


def get_cuda_device_count() -> int:
    """The number of GPUs that PyTorch sees."""
    return device_count() if is_compiled_with_cuda() else 0


def get_xpu_device_count() -> int:
    """The number of XPUs that can be used."""
    return device.xpu.device_count() if device.is_compiled_with_xpu() else 0


class XPUVersion(enum.Enum):
    """Generations of XPUs."""

    XPU1 = 1
    XPU2 = 2
    XPU3 = 3


class CustomPlace(Place):
    """A device of a plugin, of which there are none."""

    __slots__ = ()

    def __init__(self, device_type: str, device_id: int = 0) -> None:
        raise UsageError(
            f"CustomPlace({device_type!r}, {device_id}): the device type is not registered as a "
            "custom device."
        )


def is_compiled_with_mlu() -> bool:
    """False."""
    return False


def is_compiled_with_avx() -> bool:
    """Whether PyTorch uses the vector instructions of x86."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX")


def is_compiled_with_mkldnn() -> bool:
    """Whether PyTorch was built with oneDNN."""
    return bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


is_compiled_with_onednn = is_compiled_with_mkldnn


def is_compiled_with_nccl() -> bool:
    """Whether collectives can go over NCCL."""
    return torch.distributed.is_available() and torch.distributed.is_nccl_available()


def is_compiled_with_dist() -> bool:
    """True: several processes can train together."""
    return True


def is_compiled_with_brpc() -> bool:
    """False: parameter servers speak Arrow Flight."""
    return False


def is_compiled_with_mpi() -> bool:
    """False: collectives go over shared memory, gloo or NCCL."""
    return False


def is_compiled_with_npu() -> bool:
    """False."""
    return False


def is_run_with_cinn() -> bool:
    """False: programs are run by PyTorch."""
    return False


def nccl_version() -> int:
    """The version of NCCL as one number, 21805 for 2.18.5; 0 without NCCL."""
    if not (is_compiled_with_nccl() and is_compiled_with_cuda()):
        return 0
    version = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
    major, minor, patch = (*version, 0, 0)[:3]
    return int(major) * 10000 + int(minor) * 100 + int(patch)


def cudnn_version() -> int:
    """The version of cuDNN as one number; -1 without it."""
    version = device.get_cudnn_version()
    return -1 if version is None else int(version)


def is_float16_supported(place: Place) -> bool:
    """Whether float16 computes at full speed at ``place``: on GPUs from compute capability 5.3."""
    return _capability(place) >= (5, 3)


def is_bfloat16_supported(place: Place) -> bool:
    """Whether bfloat16 computes at ``place``: on GPUs from compute capability 8.0, and on CPUs with
    AVX-512.
    """
    return supports_bfloat16() if isinstance(place, CPUPlace) else _capability(place) >= (8, 0)


def _capability(place: Place) -> tuple[int, int]:
    if not place.is_gpu_place() or not torch.cuda.is_available():
        return 0, 0
    return torch.cuda.get_device_capability(place.device)


def supports_avx512f() -> bool:
    """Whether the CPU has AVX-512."""
    return bool(torch.backends.cpu.get_cpu_capability() == "AVX512")


supports_bfloat16 = supports_int8 = supports_avx512f


def get_cublas_switch() -> bool:
    """Whether products of float32 matrices may be computed in TF32."""
    return bool(torch.backends.cuda.matmul.allow_tf32)


def set_cublas_switch(active: bool) -> None:
    """Allow or forbid TF32 in products of matrices."""
    torch.backends.cuda.matmul.allow_tf32 = bool(active)


def get_cudnn_switch() -> bool:
    """Whether convolutions of float32 may be computed in TF32."""
    return torch.backends.cudnn.allow_tf32


def set_cudnn_switch(active: bool) -> None:
    """Allow or forbid TF32 in convolutions."""
    torch.backends.cudnn.allow_tf32 = bool(active)


# -- operators
# --------------------------------------------------------------------------------------------------


def get_all_op_names(lib: str = "all") -> list[str]:
    """The types of operators that ``Block.append_op`` knows."""
    return known_types()


def get_all_op_protos() -> list[bytes]:
    """The slots and attributes of the operators that ``Block.append_op`` knows, as bytes of
    ``OpProto``.
    """
    return [op_proto(name).SerializeToString() for name in known_types()]


def get_op_extra_attrs(op_type: str) -> dict[str, Any]:
    """Attributes that only tell how to run an operator: none of them is needed here, and types that
    nobody knows have none.
    """
    return {}


def op_support_gpu(op_type: str) -> bool:
    """Whether operators of this type run on GPUs: all do, if PyTorch does."""
    return is_compiled_with_cuda() and op_type in known_types()


def has_grad_op_maker(op_type: str) -> bool:
    """Whether operators of this type can be differentiated; those that update are not meant to
    be, but none is refused.
    """
    _check_registered(op_type)
    return True


def has_infer_inplace(op_type: str) -> bool:
    """False: no operator writes over its input to save memory."""
    _check_registered(op_type)
    return False


def infer_no_need_buffer_slots(
    op_type: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], attrs: Mapping[str, Any]
) -> set[str]:
    """Slots of which only the shape is read: not told here, so none."""
    _check_registered(op_type)
    return set()


class NotRegistered(NotSupported, RuntimeError):
    """There is no operator of this type."""


def _check_registered(op_type: str) -> None:
    if op_type not in known_types():
        raise NotRegistered(f"Operator ({op_type}) is not registered.")


# -- settings
# --------------------------------------------------------------------------------------------------


class _Flags:
    """The flags as one mapping, under their full names."""

    def keys(self) -> list[str]:
        return sorted(DEFAULTS)

    def __contains__(self, name: object) -> bool:
        return name in DEFAULTS

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise _NoSuchFlag(f"Cannot find global variable {name}")
        return get_flags(name)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self:
            raise _NoSuchFlag(f"Cannot find global variable {name}")
        set_flags({name: value})

    def get(self, name: str, default: Any = None) -> Any:
        return get_flags(name)[name] if name in DEFAULTS else default

    def get_default(self, name: str) -> Any:
        return DEFAULTS[name]

    def is_public(self, name: str) -> bool:
        return name in self


class _NoSuchFlag(UsageError, RuntimeError):
    """No flag has this name."""


def globals() -> _Flags:
    """The flags."""
    return _Flags()


def _set_prim_all_enabled(value: bool) -> None:
    """Ask for primitive operators in both directions; what is computed stays the same."""
    primitives.forward = primitives.backward = bool(value)


def _set_prim_forward_enabled(value: bool) -> None:
    primitives.forward = bool(value)


def _set_prim_backward_enabled(value: bool) -> None:
    primitives.backward = bool(value)


def set_prim_eager_enabled(value: bool) -> None:
    primitives.eager = bool(value)


def _is_fwd_prim_enabled() -> bool:
    return primitives.forward


def _is_bwd_prim_enabled() -> bool:
    return primitives.backward


def _is_eager_prim_enabled() -> bool:
    return primitives.eager


def _is_all_prim_enabled() -> bool:
    return primitives.forward and primitives.backward


def check_and_set_prim_all_enabled(print_flag: bool = False) -> None:
    """Ask for primitive operators if ``FLAGS_prim_all`` says so."""
    if get_flags("FLAGS_prim_all")["FLAGS_prim_all"]:
        _set_prim_all_enabled(True)


def _set_prim_forward_blacklist(*names: str) -> None:
    primitives.forward_blacklist.update(names)


def _set_prim_backward_blacklist(*names: str) -> None:
    primitives.backward_blacklist.update(names)


def _reset_prim_forward_blacklist() -> None:
    primitives.forward_blacklist.clear()


def _clear_prim_vjp_skip_default_ops() -> None:
    """Forget the operators whose gradients are not to be broken up."""
    primitives.backward_blacklist.clear()


def _set_eager_deletion_mode(threshold: float, fraction: float, use_memory_pool: bool) -> None:
    """When Paddle frees variables that nobody reads again. Here they are freed at once; what is
    asked for is kept in the flags.
    """
    set_flags(
        {
            "FLAGS_eager_delete_tensor_gb": float(threshold),
            "FLAGS_memory_fraction_of_eager_deletion": float(fraction),
            "FLAGS_fast_eager_deletion_mode": bool(use_memory_pool),
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


# -- the shell
# --------------------------------------------------------------------------------------------------


def run_cmd(cmd: str, time_out: int = -1, sleep_inter: int = -1) -> str:
    """What a command of the shell prints. ``time_out`` is in milliseconds; below zero it may take
    as long as it needs.
    """
    return shell_execute_cmd(cmd, time_out, sleep_inter)[1]


def shell_execute_cmd(
    cmd: str, time_out: int = 0, sleep_inter: int = 0, redirect_stderr: bool = False
) -> list[str]:
    """The exit code of a command of the shell, as text, and what it prints."""
    done = subprocess.run(
        ["bash", "-c", cmd],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if redirect_stderr else None,
        timeout=time_out / 1000 if time_out > 0 else None,
        check=False,
        text=True,
    )
    return [str(done.returncode), done.stdout]
