"""The check of a program that a file describes, before anything else looks at it.

Each operator has its form, names only variables that are declared around it, and runs blocks that
are its own. Constants must fit into ``LARGEST_CONSTANT`` bytes.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import ArgosyError, ProgramError
from argosy.static.files.forms import problem_of
from argosy.static.ir.operator import ONLY_IF, Operator
from argosy.static.ir.program import Program
from argosy.static.ir.verify import problem_of_blocks, problem_of_names
from argosy.static.record.infer import constant_tensors

# bytes that an operator without inputs may make: what a file says in a few of its own
LARGEST_CONSTANT = 1 << 34


def verify_loaded(program: Program, source: str) -> None:
    """Raise ProgramError, naming ``source`` and the operator, if a program is not one that scripts
    record.
    """
    run: set[int] = set()  # blocks that an operator runs
    for block in program.blocks:
        for operator in block.ops:
            problem = (
                problem_of(operator)
                or problem_of_names(operator)
                or problem_of_blocks(operator, run)
            )
            problem = problem or _problem_of_constant(operator)
            if problem:
                raise ProgramError(f"{source}: block {block.idx}: {operator.describe()} {problem}")


def _problem_of_constant(operator: Operator) -> str:
    """Whether an operator makes, of nothing, more than ``LARGEST_CONSTANT`` bytes."""
    if operator.op is None or operator.input_arg_names:
        return ""
    named: dict[str, Any] = {key: value for key, value in operator.kwargs.items() if key != ONLY_IF}
    try:
        made = constant_tensors(operator.op, operator.args, named)
    except ArgosyError as error:
        return f"cannot run: {error}"
    size = sum(tensor.numel() * tensor.element_size() for tensor in made)
    return (
        f"would make {size} bytes; {LARGEST_CONSTANT} are the most for one"
        if size > LARGEST_CONSTANT
        else ""
    )
