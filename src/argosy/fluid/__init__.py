"""``paddle.fluid``: the API of Paddle 1.x, static programs and dygraph, over the layers below."""

from argosy.fluid import (
    average,
    backward,
    clip,
    compiler,
    contrib,
    core,
    data_feeder,
    dygraph,
    dygraph_grad_clip,
    executor,
    framework,
    initializer,
    install_check,
    io,
    layer_helper,
    layers,
    lod_tensor,
    metrics,
    nets,
    optimizer,
    parallel_executor,
    param_attr,
    profiler,
    reader,
    regularizer,
    unique_name,
    wrapped_decorator,
)
from argosy.fluid._memory import memory_optimize, release_memory
from argosy.fluid.backward import append_backward, gradients
from argosy.fluid.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from argosy.fluid.core import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    LoDTensor,
    LoDTensorArray,
    Scope,
    VarBase,
)
from argosy.fluid.data import data
from argosy.fluid.data_feeder import DataFeeder
from argosy.fluid.dygraph.base import (
    disable_dygraph,
    disable_imperative,
    enable_dygraph,
    enable_imperative,
)
from argosy.fluid.dygraph.checkpoint import load_dygraph, save_dygraph
from argosy.fluid.dygraph.layers import Layer
from argosy.fluid.dygraph.nn import *
from argosy.fluid.executor import Executor, global_scope, scope_guard
from argosy.fluid.framework import *
from argosy.fluid.input import embedding, one_hot
from argosy.fluid.io import load, load_program_state, save, set_program_state
from argosy.fluid.lod_tensor import create_lod_tensor, create_random_int_lodtensor
from argosy.fluid.missing import lazy_names
from argosy.fluid.parallel_executor import ParallelExecutor
from argosy.fluid.param_attr import ParamAttr, WeightNormParamAttr

Tensor = LoDTensor

__getattr__ = lazy_names(globals())
