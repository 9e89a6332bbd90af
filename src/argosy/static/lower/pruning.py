"""Parts of a program: the operators that something depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argosy.static.ir.operator import OPTIMIZE, Operator
from argosy.static.ir.program import Program
from argosy.static.ir.verify import checked_operators
from argosy.static.lower import feed, fetch


def pruned(
    operators: Sequence[Operator],
    targets: Sequence[str],
    given: Sequence[str] = (),
    updates: Sequence[Operator] = (),
) -> list[Operator]:
    """The operators that ``targets`` and ``updates`` depend on, where ``given`` need not be
    computed. Other updates are not among them: what reads a parameter reads it as it was before.
    """
    needed, kept = set(targets).difference(given), []
    chosen = {id(operator) for operator in updates}
    for operator in reversed(operators):
        is_other = operator.role == OPTIMIZE and _changes_kept(operator)
        is_needed = needed.intersection(operator.output_arg_names) and not is_other
        if is_needed or id(operator) in chosen:
            needed.update(name for name in operator.input_arg_names if name not in given)
            kept.append(operator)
    return checked_operators(operators, kept[::-1], "pruning", given)


def _changes_kept(operator: Operator) -> bool:
    variables = map(operator.block.find_var_recursive, operator.output_arg_names)
    return any(v is not None and v.persistable for v in variables)


def only_needed(
    program: Program, feeds: list[str], fetches: list[str], updates: Sequence[Operator] = ()
) -> Program:
    """Leave in ``program`` what computes ``fetches``, and what ``updates`` take, from ``feeds``;
    returns it.
    """
    block = program.global_block()
    given = feed.with_offsets(block, feeds)
    targets, _ = fetch.with_offsets(block, fetches, given, block.ops)
    block.ops = pruned(block.ops, targets, given, updates)
    used = {n for o in block.ops for n in (*o.input_arg_names, *o.output_arg_names)}
    used |= {*targets, *given}
    block.vars = {name: v for name, v in block.vars.items() if name in used}
    program.empty_unreached_blocks()
    program.changed()
    return program


def part_of(
    program: Program, feeds: Iterable[str], fetches: Iterable[str], updates: Sequence[Operator]
) -> Program:
    """A copy of ``program`` with what computes ``fetches``, and with ``updates``: all, if there are
    none.
    """
    own_block = program.global_block()
    own = own_block.ops
    chosen = [o for o in updates or own if o.role == OPTIMIZE and o.block is own_block]
    copy = program.clone()
    block = copy.global_block()
    known = [name for name in feeds if name in block.vars]
    return only_needed(copy, known, list(fetches), [block.ops[o.idx] for o in chosen])
