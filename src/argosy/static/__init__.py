"""Static graphs: record a Program, run it with an Executor."""

from argosy.framework._param_attr import WeightNormParamAttr
from argosy.static import amp, nn
from argosy.static._average import ExponentialMovingAverage
from argosy.static._backward import append_backward, gradients
from argosy.static._compiled import CompiledProgram
from argosy.static._ctr_metric import ctr_metric_bundle
from argosy.static._data import InputSpec, create_global_var, create_parameter, data
from argosy.static._executor import Executor
from argosy.static._inference import (
    deserialize_persistables,
    deserialize_program,
    load_from_file,
    load_inference_model,
    normalize_program,
    save_inference_model,
    save_to_file,
    serialize_persistables,
    serialize_program,
)
from argosy.static._io import load, load_program_state, save, set_program_state
from argosy.static._metric import accuracy, auc
from argosy.static._missing import missing_names
from argosy.static._parallel_executor import ParallelExecutor
from argosy.static._places import cpu_places, cuda_pinned_places, cuda_places
from argosy.static._print import Print
from argosy.static._program import Program
from argosy.static._py_func import py_func
from argosy.static._recorder import (
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
    program_guard,
)
from argosy.static._scope import Scope, global_scope, scope_guard
from argosy.static._strategy import BuildStrategy, ExecutionStrategy
from argosy.static._variable import Variable
from argosy.static._vars_io import load_vars, save_vars

__getattr__ = missing_names(
    __name__,
    ("IpuCompiledProgram", "IpuStrategy", "ipu_shard_guard", "set_ipu_shard", "xpu_places"),
    globals(),
)
