"""Shapes around and inside sub-blocks: what a block writes outside of it, and what changes when
shapes outside do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.static.ir.block import Block, Kind
from argosy.static.ir.operator import (
    FORWARD,
    ONLY_IF,
    Number,
    Operator,
    Ref,
    SubBlock,
    leaves,
    mapped,
)
from argosy.static.ir.variable import Variable
from argosy.static.record.infer import Meta, infer
from argosy.static.record.kinds import give, is_same_kind, join, kind_of

Written = dict[str, tuple[Variable, Kind, bool]]


def undo_writes(block: Block) -> Written:
    """Give the variables that ``block`` writes outside of it their former kinds back; returns those
    after it.
    """
    after: Written = {}
    for name, (variable, kind, stops) in block.before.items():
        after[name] = (variable, kind_of(variable), variable.stops_gradient)
        give(variable, kind, stops)
    return after


def join_writes(written: Sequence[Written], names: Sequence[str]) -> None:
    """Let variables that branches write be what any of them leaves."""
    for name in dict.fromkeys(name for one in written for name in one):
        variable = next(one[name][0] for one in written if name in one)
        kinds = [one[name][1] if name in one else kind_of(variable) for one in written]
        stops = [one[name][2] if name in one else variable.stops_gradient for one in written]
        give(variable, join(kinds, names, f"variable {name!r}"), all(stops))


def settle(block: Block, pairs: Sequence[tuple[Variable, Variable]]) -> None:
    """Find the kinds of what a loop carries and writes: extents that a turn changes are unknown.

    ``pairs`` are loop variables with what a turn makes of them. Each round only takes knowledge
    away, so there is a last one.
    """
    flags = {name: stops for name, (_, _, stops) in block.before.items()}
    while not _agree(block, pairs):
        undo_writes(block)
        reinfer(block, flags)
    undo_writes(block)


def _agree(block: Block, pairs: Sequence[tuple[Variable, Variable]]) -> bool:
    """Join what is known before a turn with what is known after it; whether nothing was lost by
    that.
    """
    is_settled = True
    for position, (var, new) in enumerate(pairs):
        names = ("loop_vars", "what body returns")
        kind = join([kind_of(var), kind_of(new)], names, f"while_loop: loop variable {position}")
        is_settled = is_settled and is_same_kind(kind, kind_of(var))
        give(var, kind, var.stops_gradient and new.stops_gradient)
    for name, (variable, before, stopped) in list(block.before.items()):
        kind = join(
            [before, kind_of(variable)], ("front of the loop", "its body"), f"variable {name!r}"
        )
        stops = stopped and variable.stops_gradient
        is_settled = is_settled and is_same_kind(kind, before) and stops == stopped
        block.before[name] = (variable, kind, stops)
    return is_settled


def reinfer(block: Block, flags: dict[str, bool]) -> None:
    """Find the kinds of a block's variables anew, after those around it changed.

    ``flags`` says which variables around it let no gradient pass when it was recorded, if that
    changed.
    """
    flags = {**flags, **{name: v.stops_gradient for name, v in block.vars.items()}}
    for operator in block.ops:
        if operator.op is not None and operator.role == FORWARD:
            _reinfer_operator(operator, flags)
        elif operator.sub_blocks:
            _reinfer_blocks(operator, flags)
        elif operator.type == "print":
            source, out = (
                block.find_var_recursive(ref.name) for ref in (operator.args[0], operator.out)
            )
            if source is not None and out is not None:
                give(out, kind_of(source), source.stops_gradient and out.stops_gradient)


def _reinfer_operator(operator: Operator, flags: dict[str, bool]) -> None:
    block = operator.block

    def variable(leaf: Any) -> Any:
        return block.find_var_recursive(leaf.name) if isinstance(leaf, (Ref, Number)) else leaf

    args, kwargs = mapped(operator.args, variable), mapped(operator.kwargs, variable)
    kwargs.pop(ONLY_IF, None)
    assert operator.op is not None
    inputs = [v for v in leaves([list(args), kwargs]) if isinstance(v, Variable)]
    # What no gradient reached because none reached the inputs follows them; the rest was stopped on
    # purpose.
    was_implied = all(flags.get(v.name, v.stops_gradient) for v in inputs)
    stops = all(v.stops_gradient for v in inputs)
    metas = leaves(infer(operator.op, args, kwargs))
    for out, meta in zip(leaves(mapped(operator.out, variable)), metas, strict=True):
        if not isinstance(meta, Meta) or out.persistable or operator.mutates(out.name):
            continue
        block.note_write(out)
        is_number = meta.first.is_floating_point() or meta.first.is_complex()
        give(
            out,
            (meta.first, meta.second),
            stops if was_implied and is_number else out.stops_gradient,
        )


def _reinfer_blocks(operator: Operator, flags: dict[str, bool]) -> None:
    find = operator.block.find_var_recursive
    outs = [find(ref.name) for ref in operator.out[0]]
    subs = [leaf for leaf in leaves(operator.kwargs) if isinstance(leaf, SubBlock)]
    blocks = operator.sub_blocks
    sides: list[Any] = []
    written: list[Written] = []
    for block, sub in zip(blocks, subs, strict=True):
        block.before.clear()
        reinfer(block, flags)
        sides.append([block.find_var_recursive(name) for name in sub.results])
        if operator.type == "while":
            settle(block, list(zip(outs, sides[0], strict=True)))
        else:
            written.append(undo_writes(block))
    if operator.type == "cond":
        names = [f"block {block.idx}" for block in blocks]
        join_writes(written, names)
        for position, (out, *column) in enumerate(zip(outs, *sides, strict=True)):
            assert out is not None
            kind = join([kind_of(v) for v in column], names, f"result {position}")
            give(out, kind, out.stops_gradient and all(v.stops_gradient for v in column))
