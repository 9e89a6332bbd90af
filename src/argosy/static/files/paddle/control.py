"""Branches, loops and arrays of Paddle's files, as the operators that they are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.static.files.paddle.form import Misfit, OpForm
from argosy.static.files.paddle.joining import join_branches
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref, SubBlock
from argosy.static.ir.sub_blocks import bind


def operators_of(form: OpForm, block: Block) -> list[Operator] | None:
    """The operators for one that runs blocks or uses arrays; None if it is another."""
    reader = _READERS.get(form.type)
    return None if reader is None else reader(form, block)


def sub_block_of(form: OpForm, block: Block) -> int | None:
    """The number of the block that an operator runs."""
    if form.type not in ("while", "conditional_block", "conditional_block_infer"):
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
    if not form.attrs.get("is_scalar_condition"):
        raise Misfit("runs its block where its inputs are not empty, which is not supported")
    return [_branches(form, block, _only(form.inputs, "Cond"), [index, None], ([], []), [])]


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


def _array_write(form: OpForm, block: Block) -> list[Operator]:
    array = _only(form.outputs, "Out")
    args = (array, _only(form.inputs, "I"), _only(form.inputs, "X"))
    return [form.operator(block, None, args, {}, array)]


def _array_read(form: OpForm, block: Block) -> list[Operator]:
    args = (_only(form.inputs, "X"), _only(form.inputs, "I"))
    return [form.operator(block, None, args, {}, _only(form.outputs, "Out"))]


def _array_length(form: OpForm, block: Block) -> list[Operator]:
    return [form.operator(block, None, (_only(form.inputs, "X"),), {}, _only(form.outputs, "Out"))]


_READERS: dict[str, Callable[[OpForm, Block], list[Operator]]] = {
    "while": _while,
    "conditional_block": _conditional_block,
    "conditional_block_infer": _conditional_block,
    "select_input": _select_input,
    "write_to_array": _array_write,
    "read_from_array": _array_read,
    "lod_array_length": _array_length,
}
