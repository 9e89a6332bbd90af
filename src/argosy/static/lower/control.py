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

from argosy.static.ir.operator import FORWARD, Operator, SubBlock
from argosy.static.lower.emitter import Emitter, emits
from argosy.static.lower.gradients import switches_gradients


@emits("cond")
def _emit_cond(emitter: Emitter, index: int, operator: Operator) -> None:
    text = emitter.text
    _leave_unset(emitter, operator)
    before, after = text.has_grad, set()
    targets = [emitter.text.local(ref.name) for ref in operator.out[0]]
    branches = operator.kwargs["branches"]
    tests = [f"if {emitter.text.local(ref.name)}:" for ref in operator.args[0]]
    heads = [tests[0], *[f"el{test}" for test in tests[1:]], "else:"]
    for head, sub in zip(heads, branches, strict=True):
        text.append(head)
        text.has_grad = before
        with text:
            emitter.nested(index, sub).emit_suite(targets)
        after.add(text.has_grad)
        _hand_on_unset(emitter, operator, sub)
    text.has_grad = after.pop() if len(after) == 1 else None
    stop_gradients(emitter, operator)


@emits("while")
def _emit_while(emitter: Emitter, index: int, operator: Operator) -> None:
    text = emitter.text
    _leave_unset(emitter, operator)
    sub = operator.kwargs["sub_block"]
    switches = switches_gradients(operator.sub_blocks[0])
    text.append(f"while {emitter.text.local(operator.args[0].name)}:")
    if switches:
        text.has_grad = None
    with text:
        targets = [emitter.text.local(ref.name) for ref in operator.out[0]]
        emitter.nested(index, sub, repeats=True).emit_suite(targets)
    _hand_on_unset(emitter, operator, sub)
    if switches:
        text.has_grad = None
    stop_gradients(emitter, operator)


def _leave_unset(emitter: Emitter, operator: Operator) -> None:
    """Let what has no value before, and may get none in the branch that is taken or without a turn,
    be None.
    """
    given = set(operator.input_arg_names)
    emitter.leave_unset([ref.name for ref in operator.out[1] if ref.name not in given], operator)


def _hand_on_unset(emitter: Emitter, operator: Operator, sub: SubBlock) -> None:
    """Let the results of an operator be None where those of a block that it runs may be."""
    for ref, result in zip(operator.out[0], sub.results, strict=True):
        if result in emitter.unset:
            emitter.unset.setdefault(ref.name, emitter.unset[result])


def stop_gradients(emitter: Emitter, operator: Operator) -> None:
    """Detach the results that let no gradient pass."""
    for ref in operator.out[0]:
        if operator.role == FORWARD and emitter.stops(operator, ref.name):
            emitter.detach(ref.name)
