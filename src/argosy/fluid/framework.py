"""``fluid.framework``: programs, places, flags and the mode."""

from __future__ import annotations

from contextlib import AbstractContextManager

from argosy import static
from argosy.fluid.dygraph.tracer import begin_recording
from argosy.foundation.places import Place
from argosy.static import Program
from argosy.tensor.engine import defaults


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
    return static.program_guard(main_program, startup_program)


def grad_var_name(var_name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{var_name}@GRAD"


def _current_expected_place() -> Place:
    """Where new tensors go."""
    return defaults.place
