"""The check of a program: that every operator can run and reads what has a value."""

from __future__ import annotations

import torch

from argosy.foundation.errors import ProgramError
from argosy.ops import table
from argosy.static.ir import special
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, SubBlock, leaves


def verify_block(block: Block, around: set[str]) -> set[str]:
    """Check the operators of a block; ``around`` has a value before it. Returns what has one after
    it.
    """
    written = around | {v.name for v in block.vars.values() if v.persistable or v.is_data}
    for operator in block.ops:
        _verify_operator(operator, written)
        for leaf in leaves(operator.kwargs):
            if isinstance(leaf, SubBlock):
                inside = verify_block(block.program.blocks[leaf.index], set(written))
                missing = [name for name in leaf.results if name not in inside]
                if missing:
                    raise ProgramError(
                        f"Program.verify: {operator.describe()} takes {missing}, which nothing "
                        "writes"
                    )
        written.update(operator.output_arg_names)
    return written


def _verify_operator(operator: Operator, written: set[str]) -> None:
    block = operator.block
    if operator.op is None:
        if operator.type not in special.KINDS:
            raise ProgramError(f"Program.verify: {operator.describe()} is of no known type")
    elif table.get(operator.op.name) is not operator.op:
        raise ProgramError(
            f"Program.verify: {operator.describe()} is not the op of that name in the table"
        )
    for name in operator.input_arg_names:
        if block.find_var_recursive(name) is None:
            raise ProgramError(
                f"Program.verify: {operator.describe()} reads {name!r}, which is no variable"
            )
        if name not in written:
            raise ProgramError(
                f"Program.verify: {operator.describe()} reads {name!r} before any operator has "
                "written it; "
                "it is neither fed nor persistable"
            )
    for name in operator.output_arg_names:
        if block.find_var_recursive(name) is None:
            raise ProgramError(
                f"Program.verify: {operator.describe()} writes {name!r}, which is no variable"
            )
    for leaf in leaves([list(operator.args), operator.kwargs]):
        if isinstance(leaf, torch.Tensor):
            raise ProgramError(
                f"Program.verify: {operator.describe()} has a tensor among its attributes"
            )
