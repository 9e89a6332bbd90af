"""``paddle.base``: the name under which Paddle 2.5 and later keep what is left of ``fluid``.

Its modules are those of ``fluid``: ``base.core`` is the very module ``fluid.core``.
"""

import sys
from types import ModuleType

from argosy import fluid
from argosy.base import framework
from argosy.base.framework import *
from argosy.fluid import (
    backward,
    compiler,
    core,
    data_feeder,
    dygraph,
    executor,
    initializer,
    io,
    layer_helper,
    lod_tensor,
    param_attr,
    reader,
    unique_name,
    wrapped_decorator,
)
from argosy.fluid.backward import append_backward, gradients
from argosy.fluid.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from argosy.fluid.core import CPUPlace, CUDAPinnedPlace, CUDAPlace, LoDTensor, LoDTensorArray, Scope
from argosy.fluid.data_feeder import DataFeeder
from argosy.fluid.dygraph.base import (
    disable_dygraph,
    disable_imperative,
    enable_dygraph,
    enable_imperative,
)
from argosy.fluid.executor import Executor, global_scope, scope_guard
from argosy.fluid.lod_tensor import create_lod_tensor, create_random_int_lodtensor
from argosy.fluid.missing import lazy_names
from argosy.fluid.param_attr import ParamAttr, WeightNormParamAttr
from argosy.foundation.places import XPUPlace

Tensor = LoDTensor


def _share_modules() -> None:
    """Let ``import argosy.base.core`` find the module of fluid; without, a second copy of it would
    be loaded.
    """
    for shared in [
        v.__name__ for v in globals().values() if isinstance(v, ModuleType) and v is not fluid
    ]:
        if shared.startswith(f"{fluid.__name__}."):
            for name in [n for n in sys.modules if f"{n}.".startswith(f"{shared}.")]:
                sys.modules[__name__ + name[len(fluid.__name__) :]] = sys.modules[name]


_share_modules()

__getattr__ = lazy_names(globals())
