"""Recomputation as a mark on backward operators; ``lower.spans`` acts on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import ProgramError, UsageError
from argosy.static.ir.operator import CHECKPOINTS, FORWARD
from argosy.static.ir.program import Program
from argosy.static.ir.verify import checked


def recompute_program(program: Program, checkpoints: Sequence[Any]) -> None:
    """Have the backward operators of ``program`` compute what lies between ``checkpoints``
    (variables or names) again.

    Numbers stay the same, random ones too; memory is needed for the checkpoints and one span at
    a time.
    """
    names = checkpoint_names(program, checkpoints)
    found = [operator for operator in program.global_block().ops if operator.takes_gradients]
    if not found:
        raise ProgramError(
            "recompute_program: the program has no backward operator; call minimize() first"
        )
    with checked(program.blocks, "recompute"):
        for operator in found:
            operator.kwargs[CHECKPOINTS] = names
    program.changed()


def checkpoint_names(program: Program, checkpoints: Sequence[Any]) -> list[str]:
    """The names of checkpoints that operators write; what a run is given is kept anyway."""
    block = program.global_block()
    names = [c if isinstance(c, str) else c.name for c in checkpoints]
    written = {
        name
        for operator in block.ops
        if operator.role == FORWARD
        for name in operator.output_arg_names
    }
    for name in names:
        if name not in written and name not in block.vars:
            raise UsageError(f"recompute: checkpoint {name!r} is not a variable of the program")
    return [name for name in names if name in written]
