"""``fluid.framework``: programs, places, flags and the mode."""

from __future__ import annotations

from contextlib import AbstractContextManager

from argosy.device import is_compiled_with_cuda
from argosy.fluid._mode import begin_recording
from argosy.fluid.missing import missing_names
from argosy.foundation.places import Place
from argosy.framework import get_flags, in_dygraph_mode, set_flags
from argosy.static import (
    Program,
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
)
from argosy.static import program_guard as _program_guard
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator
from argosy.static.parallel.places import cpu_places, cuda_pinned_places, cuda_places
from argosy.tensor.engine import Parameter, Tensor, defaults
from argosy.utils import require_version

__all__ = [
    "Block",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "get_flags",
    "in_dygraph_mode",
    "is_compiled_with_cuda",
    "name_scope",
    "program_guard",
    "require_version",
    "set_flags",
]

Variable = Tensor  # the variables of programs are Tensors too


def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> AbstractContextManager[None]:
    """Record into ``main_program``, and initialisers into ``startup_program`` if it is given.

    Example:
        >>> import paddle.fluid as fluid
        >>> main = fluid.Program()
        >>> with fluid.program_guard(main):
        ...     x = fluid.data("x", [None, 3])
        ...     y = x * 2.0
        >>> [operator.type for operator in main.global_block().ops]
        ['elementwise_mul']
        >>> paddle.disable_static()
    """
    begin_recording("fluid.program_guard")
    return _program_guard(main_program, startup_program)


def grad_var_name(var_name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{var_name}@GRAD"


def _current_expected_place() -> Place:
    """Where new tensors go."""
    return defaults.place


__getattr__ = missing_names(__name__, globals())
