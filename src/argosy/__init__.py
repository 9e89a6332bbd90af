"""argosy: Paddle's distributed training system on the PyTorch engine. ``import paddle`` is this module."""

from argosy import _alias

_alias.check_environment()

from argosy import amp, autograd, framework, io, metric, nn, optimizer, tensor, vision  # noqa: E402
from argosy.foundation.dtypes import DType as dtype  # noqa: E402
from argosy.foundation.dtypes import (  # noqa: E402
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from argosy.foundation.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, XPUPlace  # noqa: E402
from argosy.framework import ParamAttr, get_default_dtype, set_default_dtype  # noqa: E402
from argosy.nn._parameter import create_parameter  # noqa: E402
from argosy.tensor import *  # noqa: E402, F403
from argosy.tensor import Tensor, from_numpy, from_torch, set_printoptions  # noqa: E402

__version__ = "3.3.1"
