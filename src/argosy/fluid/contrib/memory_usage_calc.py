"""An estimate of the memory that a program's values take."""

from __future__ import annotations

from argosy.foundation.errors import DtypeError, UsageError
from argosy.static import Program

# The share, at least and at most, that comes on top of the values themselves: the estimate of 1.x.
_LEAST, _MOST = 1.05, 1.1


def memory_usage(program: Program, batch_size: int) -> tuple[float, float, str]:
    """A lower and an upper estimate of what the results of all operators take together, and their
    unit: B, KB or MB.
    """
    if not isinstance(program, Program):
        raise DtypeError(
            f"memory_usage: program must be a Program, but received {type(program).__name__}"
        )
    if batch_size <= 0:
        raise UsageError(f"memory_usage: batch_size must be positive, but received {batch_size}")
    block = program.global_block()
    total = 0.0
    for name in {name: None for operator in block.ops for name in operator.output_arg_names}:
        variable = block.vars[name]
        shape = list(variable.shape)
        if shape.count(-1) > 1:
            raise UsageError(
                f"memory_usage: Var {name} has more than one unknown dimension: {shape}"
            )
        count = 1
        for extent in shape:
            count *= batch_size if extent < 0 else extent
        total += count * variable.raw.element_size()
    unit = "B"
    for larger in ("KB", "MB"):
        if total > 1024:
            total, unit = total / 1024, larger
    return total * _LEAST, total * _MOST, unit
