"""Static graphs: record a Program, run it with an Executor."""

from argosy.framework._param_attr import WeightNormParamAttr
from argosy.static import nn
from argosy.static._backward import append_backward, gradients
from argosy.static._data import InputSpec, create_global_var, create_parameter, data
from argosy.static._executor import Executor
from argosy.static._io import (
    load,
    load_inference_model,
    load_program_state,
    normalize_program,
    save,
    save_inference_model,
    set_program_state,
)
from argosy.static._metric import accuracy, auc
from argosy.static._missing import missing_names
from argosy.static._program import Program
from argosy.static._recorder import default_main_program, default_startup_program, name_scope, program_guard
from argosy.static._scope import Scope, global_scope, scope_guard
from argosy.static._variable import Variable

__getattr__ = missing_names(
    __name__,
    """
    BuildStrategy CompiledProgram ExecutionStrategy ExponentialMovingAverage IpuCompiledProgram IpuStrategy ParallelExecutor
    Print cpu_places ctr_metric_bundle cuda_places deserialize_persistables deserialize_program device_guard
    ipu_shard_guard load_from_file py_func
    save_to_file serialize_persistables serialize_program set_ipu_shard xpu_places
    """,
    globals(),
)
