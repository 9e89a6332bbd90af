"""Ops that Paddle's files have as several operators, put apart before a program is written."""

from __future__ import annotations

from typing import Any

import torch

from argosy.framework.mode import switch
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Number, Operator, Ref, leaves, mapped
from argosy.static.ir.program import Program
from argosy.static.ir.sub_blocks import renamed
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import program_guard, recorder


def expanded(program: Program) -> Program:
    """``program``, or a copy of it with the parts of what has some (``Traits.file_parts``)."""
    if not any(_has_parts(o) for block in program.blocks for o in block.ops):
        return program
    program = program.clone()
    taken = {v.name for v in program.list_vars()}
    with (
        switch.recording_here(),
        program_guard(program),
        torch.no_grad(),
        recorder.naming(_Names(taken)),
    ):
        for block in program.blocks:
            _expand(block)
    return program


class _Names:
    """Names of new variables that the program does not have."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._count = 0

    def __call__(self, position: int) -> str:
        name = ""
        while not name or name in self._taken:
            name = f"part.file_{self._count}"
            self._count += 1
        self._taken.add(name)
        return name


def _has_parts(operator: Operator) -> bool:
    return operator.op is not None and operator.op.traits.file_parts is not None


def _expand(block: Block) -> None:
    old, block.ops = block.ops, []
    with block.program.in_block(block.idx):
        for operator in old:
            if not _has_parts(operator) or not _replaced(block, operator):
                block.append_operator(operator)


def _replaced(block: Block, operator: Operator) -> bool:
    """Record the parts of an operator, which write its results."""

    def variable(leaf: Any) -> Any:
        return block.find_var_recursive(leaf.name) if isinstance(leaf, (Ref, Number)) else leaf

    assert operator.op is not None
    assert operator.op.traits.file_parts is not None
    done = len(block.ops)
    args, kwargs = mapped(operator.args, variable), mapped(operator.kwargs, variable)
    made = operator.op.traits.file_parts(_Record(), *args, **kwargs)
    if made is NotImplemented:
        return False
    results = [leaf for leaf in leaves(made) if isinstance(leaf, Variable)]
    names = dict(zip([v.name for v in results], operator.output_arg_names, strict=False))
    for part in block.ops[done:]:
        part.args = mapped(part.args, lambda leaf: renamed(leaf, names))
        part.kwargs = mapped(part.kwargs, lambda leaf: renamed(leaf, names))
        part.out = mapped(part.out, lambda leaf: renamed(leaf, names))
        part.role, part.name_scope = operator.role, operator.name_scope
    for name in names:
        block.vars.pop(name, None)
    return True


class _Record:
    """What records the parts."""

    def __call__(self, op: Any, /, *args: Any, **attrs: Any) -> Any:
        return recorder.record(op, args, attrs)

    apart = __call__
