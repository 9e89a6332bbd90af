"""The check of a program that a file describes, before anything else looks at it.

Each operator has its form, names only variables that are declared around it, and runs blocks that
are its own. Constants must fit into ``LARGEST_CONSTANT`` bytes.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import ArgosyError, ProgramError
from argosy.static.files.forms import problem_of
from argosy.static.ir.operator import ONLY_IF, Operator, SubBlock, leaves
from argosy.static.ir.program import Program
from argosy.static.ir.sub_blocks import Traffic
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
                or _problem_of_names(operator)
                or _problem_of_blocks(operator, run)
            )
            problem = problem or _problem_of_constant(operator)
            if problem:
                raise ProgramError(f"{source}: block {block.idx}: {operator.describe()} {problem}")


def _problem_of_names(operator: Operator) -> str:
    for name in (*operator.input_arg_names, *operator.output_arg_names):
        if operator.block.find_var_recursive(name) is None:
            return f"names {name!r}, which is no variable"
    return ""


def _problem_of_blocks(operator: Operator, run: set[int]) -> str:
    """Whether the blocks that it runs are inside of its own, run by nobody else, and use what it
    says.
    """
    blocks = operator.block.program.blocks
    reads, writes = set(operator.input_arg_names), set(operator.output_arg_names)
    for leaf in leaves(operator.kwargs):
        if not isinstance(leaf, SubBlock):
            continue
        if leaf.index >= len(blocks) or blocks[leaf.index].parent_idx != operator.block.idx:
            return f"runs block {leaf.index}, which is no block inside of its own"
        if leaf.index in run:  # else a few blocks could stand for any number of lines
            return f"runs block {leaf.index}, which is run already"
        run.add(leaf.index)
        block = blocks[leaf.index]
        missing = [name for name in leaf.results if block.find_var_recursive(name) is None]
        if missing:
            return f"takes {missing[0]!r} from block {leaf.index}, which is no variable there"
        traffic = Traffic(block, leaf.results)
        unsaid = [name for name in traffic.reads if name not in reads] + [
            n for n in traffic.writes if n not in writes
        ]
        if unsaid:
            return f"does not say that its block {leaf.index} uses {unsaid[0]!r}"
    return ""


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
