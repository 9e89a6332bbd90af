"""The text of branches and loops: their blocks become the suites of ``if`` and ``while`` in the one
function of a program.

    if v1:                            while v4:
        v5 = f0(v0)                       v6 = f1(v2, v0)
        (v3, ) = (v5, )                   v7 = f2(v6)
    else:                                 (v2, v4, ) = (v6, v7, )
        (v3, ) = (v0, )

So a block sees the variables around it, writes to them as it likes, and an error in it is found
like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argosy.foundation.errors import NotSupported
from argosy.static.ir.operator import FORWARD, OPTIMIZE, Operator

if TYPE_CHECKING:
    from argosy.static.ir.block import Block
    from argosy.static.lower.emitter import Emitter


class Lines(list[str]):
    """Lines of the function, indented as deep as the suite that is written now."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        # whether gradients are on after the last line; None: not known
        self.has_grad: bool | None = None

    def append(self, line: str) -> None:
        super().append("    " * self.depth + line)

    def __enter__(self) -> Lines:
        self.depth += 1
        return self

    def __exit__(self, *exc: object) -> None:
        self.depth -= 1


def emit_cond(emitter: Emitter, index: int, operator: Operator) -> None:
    lines = emitter.lines
    _leave_unset(emitter, operator)
    before, after = lines.has_grad, set()
    targets = [emitter.local(ref.name) for ref in operator.out[0]]
    branches = operator.kwargs["branches"]
    tests = [f"if {emitter.local(ref.name)}:" for ref in operator.args[0]]
    heads = [tests[0], *[f"el{test}" for test in tests[1:]], "else:"]
    for head, sub in zip(heads, branches, strict=True):
        lines.append(head)
        lines.has_grad = before
        with lines:
            emitter.nested(index, sub).emit_suite(targets)
        after.add(lines.has_grad)
    lines.has_grad = after.pop() if len(after) == 1 else None
    _emit_stops(emitter, operator)


def emit_while(emitter: Emitter, index: int, operator: Operator) -> None:
    lines = emitter.lines
    _leave_unset(emitter, operator)
    sub = operator.kwargs["sub_block"]
    switches = _switches_gradients(operator.sub_blocks[0])
    lines.append(f"while {emitter.local(operator.args[0].name)}:")
    if switches:
        lines.has_grad = None
    with lines:
        targets = [emitter.local(ref.name) for ref in operator.out[0]]
        emitter.nested(index, sub, repeats=True).emit_suite(targets)
    if switches:
        lines.has_grad = None
    _emit_stops(emitter, operator)


def _leave_unset(emitter: Emitter, operator: Operator) -> None:
    """Let what has no value before, and may get none in the branch that is taken or without a turn,
    be None.
    """
    given = set(operator.input_arg_names)
    emitter.leave_unset([ref.name for ref in operator.out[1] if ref.name not in given], operator)


def _emit_stops(emitter: Emitter, operator: Operator) -> None:
    for ref in operator.out[0]:
        if operator.role == FORWARD and emitter.stops(operator, ref.name):
            emitter.lines.append(f"{emitter.local(ref.name)} = {emitter.local(ref.name)}.detach()")


def has_backward(operator: Operator) -> bool:
    """Whether an operator takes gradients, itself or in its blocks."""
    return operator.type == "backward" or any(
        has_backward(o) for block in operator.sub_blocks for o in block.ops
    )


def require_outer_backward(operators: Sequence[Operator]) -> None:
    """Refuse gradients that are taken inside of blocks: places that combine theirs could take
    different branches.
    """
    for operator in operators:
        if operator.type != "backward" and has_backward(operator):
            raise NotSupported(
                f"a data-parallel run: {operator.describe()} takes gradients inside of its "
                "blocks, where several places cannot "
                "combine them; return the loss from there and call minimize() outside"
            )


def _switches_gradients(block: Block) -> bool:
    """Whether the operators of a block do not all run with gradients on, or all off."""
    return any(
        has_backward(o)
        or o.role == OPTIMIZE
        or any(_switches_gradients(inner) for inner in o.sub_blocks)
        for o in block.ops
    )
