"""The check of programs: every operator has its form, names variables that there are, and reads
what has a value; blocks are run by one operator, which says what they use.

A pass changes operators that were recorded. It does so inside ``checked``, or hands its list to
``checked_operators``: what had a value before the pass must have one after it, and an error names
the pass. The check takes 50 us per operator, where lowering and mixed precision take 2500, so it is
never left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch

from argosy.foundation.errors import InternalError, ProgramError
from argosy.ops import table
from argosy.static.ir import special
from argosy.static.ir.block import Block
from argosy.static.ir.forms import problem_of_call
from argosy.static.ir.operator import Number, Operator, Ref, SubBlock, leaves
from argosy.static.ir.sub_blocks import Traffic

# -- passes
# --------------------------------------------------------------------------------------------------


@contextmanager
def checked(blocks: Sequence[Block], name: str) -> Iterator[None]:
    """Check what the pass ``name``, the body, leaves of the blocks of a program."""
    known = unwritten(blocks[0].ops)
    yield
    check_pass(blocks, name, known)


def check_pass(blocks: Sequence[Block], name: str, known: Collection[str]) -> None:
    """Check what the pass ``name`` left; ``known`` need not have a value."""
    with _blaming(name):
        verify(blocks, known)


def checked_operators(
    before: Sequence[Operator], after: list[Operator], name: str, fed: Iterable[str] = ()
) -> list[Operator]:
    """``after``, which the pass ``name`` made of the operators ``before``; it may read what is
    ``fed``.
    """
    known = unwritten(before).union(fed)
    with _blaming(name):
        for operator in after:
            _require(operator, _problem_of(operator))
        _require_values(after, known)
    return after


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    try:
        yield
    except ProgramError as error:
        raise InternalError(f"pass {name!r} left a program that cannot run: {error}") from error


# -- the check
# --------------------------------------------------------------------------------------------------


def verify(blocks: Sequence[Block], known: Collection[str] = ()) -> None:
    """Raise ProgramError, naming the operator, if the program of these blocks cannot run when it is
    fed its data and ``known``.
    """
    run: set[int] = set()
    for block in blocks:
        _verify_variables(block)
        for operator in block.ops:
            if operator.block is not block:
                raise ProgramError(f"operator {operator.type!r} of block {block.idx} is another's")
            _require(operator, _problem_of(operator) or problem_of_blocks(operator, run))
    _require_values(blocks[0].ops, known)


def unwritten(operators: Sequence[Operator]) -> set[str]:
    """What the operators read before any of them writes it, and what is neither data nor kept."""
    return {name for _, name in _early_reads(operators, _kept(operators))}


def problem_of_names(operator: Operator) -> str:
    """Whether it names something that is no variable, or gives a variable two of its results."""
    find = operator.block.find_var_recursive
    for leaf in leaves([list(operator.args), operator.kwargs]):
        if isinstance(leaf, (Ref, Number)):
            if find(leaf.name) is None:
                return f"reads {leaf.name!r}, which is no variable"
        elif isinstance(leaf, torch.Tensor):
            return "has a tensor among its attributes"
    written: set[str] = set()
    for name in operator.output_arg_names:
        if find(name) is None:
            return f"writes {name!r}, which is no variable"
        if name in written:
            return f"writes {name!r} twice"
        written.add(name)
    return ""


def problem_of_blocks(operator: Operator, run: set[int]) -> str:
    """Whether the blocks that it runs are inside of its own, not in ``run``, to which they are
    added, and use what it says.
    """
    blocks = operator.block.program.blocks
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
        reads, writes = set(operator.input_arg_names), set(operator.output_arg_names)
        unsaid = [*(traffic.reads.keys() - reads), *(traffic.writes.keys() - writes)]
        if unsaid:
            return f"does not say that its block {leaf.index} uses {min(unsaid)!r}"
    return ""


def _problem_of(operator: Operator) -> str:
    """What is wrong with one operator, whatever is around it."""
    op = operator.op
    if op is None and operator.type not in special.KINDS:
        return "is of no known type"
    if op is not None and table.named(op.name) not in (op, None):
        return "is not the op of that name in the table"
    return problem_of_names(operator) or ("" if op is None else problem_of_call(operator, op))


def _require(operator: Operator, problem: str) -> None:
    if problem:
        raise ProgramError(f"{operator.describe()} {problem}")


def _verify_variables(block: Block) -> None:
    for name, variable in block.vars.items():
        if variable.block is not block or variable.name != name:
            raise ProgramError(f"variable {name!r} of block {block.idx} is another's")
        if block.parent is not None and block.parent.find_var_recursive(name) is not None:
            raise ProgramError(
                f"variable {name!r} of block {block.idx} hides that of an enclosing block"
            )


# -- values
# --------------------------------------------------------------------------------------------------


def _kept(operators: Sequence[Operator]) -> set[str]:
    """What has a value before the first of the operators of a block."""
    block = operators[0].block if operators else None
    found = [] if block is None else block.vars.values()
    return {v.name for v in found if v.persistable or v.is_data}


def _require_values(operators: Sequence[Operator], known: Collection[str]) -> None:
    for operator, name in _early_reads(operators, _kept(operators)):
        if name in known:
            continue
        if name not in operator.input_arg_names:
            raise ProgramError(f"{operator.describe()} takes {[name]}, which nothing writes")
        raise ProgramError(
            f"{operator.describe()} reads {name!r} before any operator has written it; it is "
            "neither fed nor persistable"
        )


def _early_reads(
    operators: Sequence[Operator], written: set[str]
) -> Iterator[tuple[Operator, str]]:
    """The operators, those of the blocks that they run too, that read what has no value yet;
    ``written`` has one, and takes up what they write.
    """
    for operator in operators:
        yield from ((operator, n) for n in operator.input_arg_names if n not in written)
        for leaf in leaves(operator.kwargs):
            if isinstance(leaf, SubBlock):
                inner = operator.block.program.blocks[leaf.index].ops
                inside = written | _kept(inner)
                yield from _early_reads(inner, inside)
                yield from ((operator, n) for n in leaf.results if n not in inside)
        written.update(operator.output_arg_names)
