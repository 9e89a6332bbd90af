"""Static graphs: record a Program, run it with an Executor."""

from argosy.foundation.missing import missing_names
from argosy.framework.param_attr import WeightNormParamAttr
from argosy.static import amp, methods, nn
from argosy.static.files import values as _values
from argosy.static.files.inference import (
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
from argosy.static.files.io import load, load_program_state, save, set_program_state
from argosy.static.files.variables import load_vars, save_vars
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope, scope_guard
from argosy.static.ir.variable import Variable
from argosy.static.parallel.compiled import CompiledProgram
from argosy.static.parallel.parallel_executor import ParallelExecutor
from argosy.static.parallel.places import cpu_places, cuda_pinned_places, cuda_places
from argosy.static.parallel.strategy import BuildStrategy, ExecutionStrategy
from argosy.static.record.average import ExponentialMovingAverage
from argosy.static.record.backward import append_backward, gradients
from argosy.static.record.ctr_metric import ctr_metric_bundle
from argosy.static.record.data import (
    InputSpec,
    create_global_var,
    create_parameter,
    data,
    setitem,
)
from argosy.static.record.metric import accuracy, auc
from argosy.static.record.print_op import Print
from argosy.static.record.py_func import py_func
from argosy.static.record.recorder import (
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
    program_guard,
)
from argosy.static.run.executor import Executor

methods.install()
_values.install()

__getattr__ = missing_names(
    __name__,
    ("IpuCompiledProgram", "IpuStrategy", "ipu_shard_guard", "set_ipu_shard", "xpu_places"),
    globals(),
)
