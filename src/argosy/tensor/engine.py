"""What other packages may use of ``tensor`` beside its functions: the wrapper, the door to the op
table, and the defaults.

``Tensor.raw`` is the torch tensor inside; ``wrap`` and ``unwrap`` go from one to the other, through
nests too. ``apply`` is the one way to call an op of the table, and modes are what may receive the
call instead.
"""

from argosy.tensor._core.arguments import axes, store
from argosy.tensor._core.assignments import assignments
from argosy.tensor._core.convert import to_raw
from argosy.tensor._core.defaults import defaults, float_dtype, get_default_dtype, set_default_dtype
from argosy.tensor._core.explain import describe, explain, explain_backward
from argosy.tensor._core.face import unary
from argosy.tensor._core.first_generation import first_generation
from argosy.tensor._core.inplace import check_writable, make_inplace, replace
from argosy.tensor._core.methods import set_value
from argosy.tensor._core.naming import unique_name
from argosy.tensor._core.tensor import (
    Mode,
    Parameter,
    Shape,
    SumOrder,
    Tensor,
    apply,
    current_mode,
    execute,
    execute_beside,
    pop_mode,
    push_mode,
    rewrap,
    unwrap,
    wrap,
)

__all__ = [
    "Mode", "Parameter", "Shape", "SumOrder", "Tensor", "apply", "assignments", "axes",
    "check_writable", "current_mode", "defaults", "describe", "execute", "execute_beside",
    "explain", "explain_backward", "first_generation", "float_dtype", "get_default_dtype",
    "make_inplace", "pop_mode",
    "push_mode", "replace", "rewrap", "set_default_dtype", "set_value", "store", "to_raw",
    "unary", "unique_name", "unwrap", "wrap",
]  # fmt: skip
