"""Two ``conditional_block`` of which one runs, joined to one operator with two branches.

Paddle's files have a branch for true and one for false as operators of their own, the second under
the negated condition; each assigns its results to variables outside, and ``select_input`` picks.
Here one operator has both, and their results are its own.
"""

from __future__ import annotations

from typing import Any

from argosy.ops.math.logic import logical_not
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref, SubBlock, names_in
from argosy.static.ir.sub_blocks import bind


def join_branches(block: Block, if_true: str, if_false: str, out: Ref) -> bool:
    """Let ``out`` be a result of the branches that wrote the two variables; whether it can be."""
    first, second = _writer(block, if_true), _writer(block, if_false)
    if first is None or second is None:
        return False
    if first is not second:
        joined = _joined(block, first, second)
        if joined is None:
            return False
        second = joined
    branches: list[SubBlock] = second.kwargs["branches"]
    blocks = block.program.blocks
    inner = [blocks[branch.index] for branch in branches]
    names = (if_true, if_false)
    if any(not _is_written(b, n) for b, n in zip(inner, names, strict=True)):
        return False
    for sub, name in zip(inner, names, strict=True):
        variable: Any = block.vars.pop(name, None)
        if variable is not None:
            variable.block = sub
            sub.vars[name] = variable
    second.kwargs = {
        "branches": [
            SubBlock(branch.index, (*branch.results, name))
            for branch, name in zip(branches, names, strict=True)
        ]
    }
    second.out = [[*second.out[0], out], []]
    bind(second)
    return True


def _is_written(block: Block, name: str) -> bool:
    return any(name in operator.output_arg_names for operator in block.ops)


def _writer(block: Block, name: str) -> Operator | None:
    """The branches that write a variable of their block; None if another operator does too."""
    if name not in block.vars:
        return None
    found = [o for o in block.ops if name in o.output_arg_names]
    return found[0] if len(found) == 1 and found[0].type == "cond" else None


def _joined(block: Block, first: Operator, second: Operator) -> Operator | None:
    """One operator in the place of two, if the second runs where the first does not and what stands
    between them concerns neither.
    """
    start, end = first.idx, second.idx
    is_plain = all(len(o.args[0]) == 1 and not o.out[0] for o in (first, second))
    if not is_plain or start > end or not _is_negated(block, first, second):
        return None
    read, wrote = set(first.input_arg_names), set(first.output_arg_names)
    for operator in block.ops[start + 1 : end]:
        if not read.isdisjoint(operator.output_arg_names) or not wrote.isdisjoint(
            [*operator.input_arg_names, *operator.output_arg_names]
        ):
            return None
    branches = [o.kwargs["branches"][0] for o in (first, second)]
    second.args = (first.args[0], [])
    second.kwargs = {"branches": branches}
    block.ops.remove(first)
    bind(second)
    return second


def _is_negated(block: Block, first: Operator, second: Operator) -> bool:
    condition, other = names_in(first.args[0])[0], names_in(second.args[0])[0]
    makers = [o for o in block.ops if other in o.output_arg_names]
    return (
        len(makers) == 1
        and makers[0].op is logical_not
        and makers[0].input_arg_names == [condition]
    )
