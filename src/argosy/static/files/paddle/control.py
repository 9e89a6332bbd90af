"""Branches and loops of Paddle's files, and what writes arrays, as the operators that they are
here. They are called while recording.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.ops.array.creation import assign
from argosy.static.files.paddle.form import Misfit, OpForm
from argosy.static.files.paddle.joining import join_branches
from argosy.static.files.paddle.recurrence import RECURRENT
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref, SubBlock
from argosy.static.ir.sub_blocks import bind
from argosy.static.record.arrays import ArrayVariable, record_write

_RUN_BLOCKS = ("while", "conditional_block", "conditional_block_infer", RECURRENT)


def operators_of(form: OpForm, block: Block) -> list[Operator] | None:
    """The operators for one that runs blocks or writes an array, beside what it records; None if it
    is another.
    """
    reader = _READERS.get(form.type)
    return None if reader is None else reader(form, block)


def runs_block(form: OpForm) -> bool:
    """Whether an operator is of a type that runs a block."""
    return form.type in _RUN_BLOCKS


def sub_block_of(form: OpForm, block: Block) -> int | None:
    """The number of the block that an operator runs."""
    if not runs_block(form):
        return None
    index = form.attrs.get("sub_block")
    blocks = block.program.blocks
    if type(index) is not int or not 0 < index < len(blocks):
        raise Misfit(f"must run one of the blocks 1 to {len(blocks) - 1}, but has {index!r}")
    if blocks[index].parent_idx != block.idx:
        raise Misfit(f"runs block {index}, which is not inside of its own")
    return index


def _only(slots: dict[str, list[str]], slot: str) -> Ref:
    names = slots.get(slot, [])
    if len(names) != 1:
        raise Misfit(f"must have one variable as {slot}, but has {names}")
    return Ref(names[0])


def _while(form: OpForm, block: Block) -> list[Operator]:
    index = sub_block_of(form, block)
    assert index is not None
    condition = _only(form.inputs, "Condition")
    out: list[Any] = [[], []]
    operator = form.operator(block, None, (condition, []), {"sub_block": SubBlock(index)}, out)
    bind(operator)
    return [operator]


def _conditional_block(form: OpForm, block: Block) -> list[Operator]:
    index = sub_block_of(form, block)
    assert index is not None
    if form.attrs.get("is_scalar_condition"):
        condition = _only(form.inputs, "Cond")
    else:
        condition = _has_elements(block, form.inputs.get("Cond", []))
    return [_branches(form, block, condition, [index, None], ([], []), [])]


def _has_elements(block: Block, names: list[str]) -> Ref:
    """The condition that none of some variables is empty."""
    if not names:
        raise Misfit("must have one variable or more as Cond")
    condition: Any = None
    for name in names:
        this = T.logical_not(T.is_empty(block.find_var_recursive(name)))
        condition = this if condition is None else T.logical_and(condition, this)
    return Ref(condition.name)


def _select_input(form: OpForm, block: Block) -> list[Operator]:
    """One of two variables: a result of branches, if two of these wrote them and one or the other
    runs; else the one that the mask says.
    """
    names = form.inputs.get("X", [])
    if len(names) != 2:
        raise Misfit(f"must choose among two variables, but has {names}")
    mask, out = _only(form.inputs, "Mask"), _only(form.outputs, "Out")
    if join_branches(block, names[1], names[0], out):
        return []
    chosen = ([names[1]], [names[0]])
    return [_branches(form, block, mask, [None, None], chosen, [out])]


def _select_output(form: OpForm, block: Block) -> list[Operator]:
    """One of two variables is written: the one that the mask says."""
    names = form.outputs.get("Out", [])
    if len(names) != 2:
        raise Misfit(f"must choose among two variables, but has {names}")
    mask, given = _only(form.inputs, "Mask"), _only(form.inputs, "X")
    operator = _branches(form, block, mask, [None, None], ([], []), [])
    for sub, name in zip(operator.sub_blocks, names[::-1], strict=True):
        sub.append_operator(Operator(sub, "assign", assign, (given,), {}, Ref(name)))
    bind(operator)
    return [operator]


def _array_write(form: OpForm, block: Block) -> list[Operator]:
    """The array is no input of the operator, but exists."""
    names = [_only(form.outputs, "Out"), _only(form.inputs, "I"), _only(form.inputs, "X")]
    found: list[Any] = [block.find_var_recursive(ref.name) for ref in names]
    array, index, value = found
    if not isinstance(array, ArrayVariable):
        raise Misfit(f"writes {names[0].name!r:.80}, which is no array")
    record_write(array, index, value)
    return []


def _branches(
    form: OpForm,
    block: Block,
    condition: Ref,
    indices: list[int | None],
    results: tuple[list[str], list[str]],
    out: list[Ref],
) -> Operator:
    """A branch for true and one for false; without a number it is empty."""
    program = block.program
    subs = []
    for index, names in zip(indices, results, strict=True):
        if index is None:
            index = len(program.blocks)
            program.blocks.append(Block(program, index, block.idx))
        subs.append(SubBlock(index, tuple(names)))
    args: tuple[Any, ...] = ([condition], [])
    operator = form.operator(block, None, args, {"branches": subs}, [out, []])
    operator.type = "cond"
    bind(operator)
    return operator


_READERS: dict[str, Callable[[OpForm, Block], list[Operator]]] = {
    "while": _while,
    "conditional_block": _conditional_block,
    "conditional_block_infer": _conditional_block,
    "select_input": _select_input,
    "select_output": _select_output,
    "write_to_array": _array_write,
}
