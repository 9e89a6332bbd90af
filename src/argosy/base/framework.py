"""``base.framework``: as ``fluid.framework``, except that ``program_guard`` leaves the mode alone,
as in Paddle 2.
"""

from argosy.fluid.framework import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    _current_expected_place,
    cpu_places,
    cuda_pinned_places,
    cuda_places,
    default_main_program,
    default_startup_program,
    device_guard,
    get_flags,
    grad_var_name,
    in_dygraph_mode,
    is_compiled_with_cuda,
    name_scope,
    require_version,
    set_flags,
)
from argosy.fluid.missing import missing_names
from argosy.framework import in_dynamic_or_pir_mode, in_pir_mode
from argosy.static import program_guard

__all__ = [
    "Block",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "_current_expected_place",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "get_flags",
    "grad_var_name",
    "in_dygraph_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_mode",
    "is_compiled_with_cuda",
    "name_scope",
    "program_guard",
    "require_version",
    "set_flags",
]

__getattr__ = missing_names(__name__, globals())
