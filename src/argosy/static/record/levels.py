"""The variables of a program that hold the offsets of sequences: ``Variable.lod_names`` names them,
outermost first.
"""

from __future__ import annotations

from argosy.foundation.errors import ProgramError
from argosy.static.ir.variable import Variable


def lod_variables(variable: Variable) -> list[Variable]:
    """The variables with the offsets of the sequences of ``variable``, outermost first."""
    return [offsets_of(variable, level) for level in range(variable.lod_level)]


def possible_levels(variable: Variable) -> list[Variable]:
    """As ``lod_variables``; of data that was declared without sequences, those that it may be fed
    with: a run without them has None.
    """
    if variable.lod_level or not variable.is_data:
        return lod_variables(variable)
    block = variable.block
    return [block.vars[name] for name in block.declare_late_lod(variable)]


def offsets_of(variable: Variable, level: int = -1) -> Variable:
    """The variable with the offsets of one level of the sequences of ``variable``."""
    found: Variable | None = variable.block.find_var_recursive(variable.lod_names[level])
    if found is None:
        raise ProgramError(
            f"the sequences of {variable.name!r} are not part of this program: pruning took them "
            "out"
        )
    return found
