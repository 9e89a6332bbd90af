"""Recording of branches and loops: operators ``cond`` and ``while`` whose blocks are recorded by
calling functions.

A function sees the variables around it; what it writes to them (``paddle.assign(x, output=y)``) is
written when its block runs. Results get the shape on which all branches, or all turns of a loop,
agree, and unknown extents elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, SubBlock, leaves, mapped
from argosy.static.ir.sub_blocks import bind
from argosy.static.ir.variable import Kind, Variable
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.kinds import (
    join_branches,
    require_same_results,
    require_same_structure,
    without_values,
)
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import join_writes, settle
from argosy.tensor.creation import assign, full
from argosy.tensor.engine import unique_name


@contextlib.contextmanager
def sub_block() -> Iterator[Block]:
    """Record into a new block inside the current one; if that fails, the program is left without
    it.
    """
    program = recorder.main
    block = program.create_block()
    try:
        yield block
    except BaseException:
        program.drop_blocks(block.idx)
        raise
    program.leave_block()


# -- branches
# --------------------------------------------------------------------------------------------------


class Branches:
    """Branches that are recorded one after the other, of which a run takes the first whose
    condition holds, or the last.
    """

    def __init__(self) -> None:
        self.start = len(recorder.main.blocks)
        self.blocks: list[Block] = []

    @contextlib.contextmanager
    def branch(self) -> Iterator[None]:
        with sub_block() as block:
            yield
        self.blocks.append(block)

    def finish(
        self,
        conditions: Sequence[Variable],
        results: Sequence[Any],
        names: Sequence[str],
        call: str,
    ) -> Any:
        """Record the operator; returns the ``results`` of the branches joined."""
        program = recorder.main
        try:
            sides = self._aligned(results, names, call)
            outs = _joined(sides, names, call)
            join_writes(self.blocks, names)
        except BaseException:
            program.drop_blocks(self.start)
            raise
        chosen = [i for i, out in enumerate(outs) if isinstance(out, Variable)]
        branches = [
            SubBlock(block.idx, tuple(side[i].name for i in chosen))
            for block, side in zip(self.blocks, sides, strict=True)
        ]
        targets = [outs[i] for i in chosen]
        operator = recorder.append(
            program.current_block(),
            "cond",
            None,
            (list(conditions), []),
            {"branches": branches},
            [targets, []],
        )
        bind(operator)
        remaining = iter(outs)
        return mapped(results[0], lambda leaf: next(remaining))

    def _aligned(self, results: Sequence[Any], names: Sequence[str], call: str) -> list[list[Any]]:
        """The leaves of each result; those at one place are all variables, or all the same plain
        value.
        """
        require_same_results(results, names, call)
        like: Any = results[0]
        # A dict may list its keys in another order than the first.
        sides = [
            list(leaves(result if result is like else _ordered_as(like, result)))
            for result in results
        ]
        for i, column in enumerate(zip(*sides, strict=True)):
            if all(isinstance(leaf, Variable) for leaf in column) or all(
                is_same_value(column[0], x) for x in column
            ):
                continue
            for k, leaf in enumerate(column):
                if not isinstance(leaf, (bool, int, float, Variable)):
                    other = next(n for n, x in enumerate(column) if not is_same_value(x, leaf))
                    raise UsageError(
                        f"{call}: result {i} is {shown(leaf)} in {names[k]}, but "
                        f"{shown(column[other])} in {names[other]}"
                    )
                if not isinstance(leaf, Variable):
                    with recorder.main.in_block(self.blocks[k].idx):
                        sides[k][i] = as_variable(leaf, column)
        return sides


def record_branches(
    conditions: Sequence[Variable],
    functions: Sequence[Callable[[], Any]],
    names: Sequence[str],
    call: str,
) -> Any:
    """Record an operator that runs the first function whose condition holds; the last one has
    none.
    """
    branches = Branches()
    results = []
    for function in functions:
        with branches.branch():
            results.append(mapped(function(), recorder.admit))
    return branches.finish(conditions, results, names, call)


def record_conditional_block(condition: Variable, block: Block) -> Operator:
    """Record the operator that runs ``block``, recorded before, where ``condition`` holds."""
    branches = Branches()
    branches.blocks.append(block)
    with branches.branch():
        pass
    names = ("sub_block", "no block")
    branches.finish([condition], [None, None], names, "conditional_block")
    return recorder.main.current_block().ops[-1]


def _ordered_as(like: Any, tree: Any) -> Any:
    if isinstance(like, dict):
        return {key: _ordered_as(value, tree[key]) for key, value in like.items()}
    if isinstance(like, (list, tuple)):
        return [_ordered_as(a, b) for a, b in zip(like, tree, strict=True)]
    return tree


def is_same_value(a: Any, b: Any) -> bool:
    return a is b or (
        not isinstance(a, Variable)
        and not isinstance(b, Variable)
        and type(a) is type(b)
        and a == b
    )


def as_variable(number: Any, column: Sequence[Any]) -> Variable:
    """A number as a variable, of the dtype of what stands beside it."""
    variable = next((leaf for leaf in column if isinstance(leaf, Variable)), None)
    if variable is not None:
        shape = list(variable.shape) if variable.size == 1 else []
        same: Variable = full(shape, number, dtypes.name_of(variable.raw.dtype))
        return same
    types = {type(leaf) for leaf in column}
    kind = "float64" if float in types else "int64" if int in types else "bool"
    scalar: Variable = full([], number, kind)
    return scalar


def shown(leaf: Any) -> str:
    if isinstance(leaf, Variable):
        return f"a Tensor {dtypes.name_of(leaf.raw.dtype)}{list(leaf.shape)}"
    return repr(leaf)


def _joined(sides: list[list[Any]], names: Sequence[str], call: str) -> list[Any]:
    """New variables of the current block for what differs between the branches."""
    block = recorder.main.current_block()
    base = unique_name.generate("cond")
    outs: list[Any] = []
    for position, column in enumerate(zip(*sides, strict=True)):
        if not isinstance(column[0], Variable):
            outs.append(column[0])
            continue
        kind = join_branches([v.kind for v in column], names, f"{call}: result {position}")
        stops = all(v.stop_gradient for v in column)
        name = unique_name.generate(f"{base}.tmp")
        outs.append(
            Variable(
                block,
                name,
                kind.first,
                kind.second,
                stop_gradient=stops,
                lod=_common_lod(column, block),
            )
        )
    return [block.add_variable(out) if isinstance(out, Variable) else out for out in outs]


def _common_lod(column: Sequence[Variable], block: Block) -> tuple[str, ...]:
    """The offsets of sequences that all have, if they are known outside of the branches."""
    lod = column[0].lod_names
    is_common = all(v.lod_names == lod for v in column) and all(
        block.find_var_recursive(name) is not None for name in lod
    )
    return lod if is_common else ()


def record_no_value(kind: Kind) -> Variable:
    """A variable of a kind that has no value until something else is written to it; a run that
    reads it all the same is told so, and one that fetches it gets None.
    """
    block = recorder.main.current_block()
    name = unique_name.generate(f"{unique_name.generate('no_value')}.tmp")
    bare = without_values(kind)
    out = block.add_variable(Variable(block, name, bare.first, bare.second))
    recorder.append(block, "no_value", None, (), {}, out)
    return out


# -- loops
# --------------------------------------------------------------------------------------------------


def record_while(condition: Callable[..., Any], body: Callable[..., Any], loop_vars: Any) -> Any:
    """Record a loop; returns the loop variables after it."""
    current = recorder.main.current_block()
    carried = mapped(list(loop_vars), loop_variable)
    known = set(current.vars)
    pred = checked_condition(condition(*_copied(carried)))
    if pred.block is not current or pred.name in known:  # the loop writes it
        pred = assign(pred)
    with sub_block() as block:
        results = body(*_copied(carried))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        require_same_structure(carried, results, ("loop_vars", "what body returns"), "while_loop")
        results = _ordered_as(carried, mapped(results, recorder.admit))
        pairs = [
            (var, as_carried(var, new))
            for var, new in zip(leaves(carried), leaves(results), strict=True)
        ]
        news = iter([new for _, new in pairs])
        again = checked_condition(condition(*mapped(carried, lambda leaf: next(news))))
        variables = [
            (var, new)
            for var, new in pairs
            if isinstance(var, Variable) and not isinstance(var, ArrayVariable)
        ]
        settle(block, variables)
    record_loop(
        block, pred, [var for var, _ in variables] + [pred], [new for _, new in variables] + [again]
    )
    return carried


def _copied(tree: Any) -> Any:
    """Nested values that a function of the script may change, without changing ours."""
    return mapped(tree, lambda leaf: leaf)


def record_loop(
    block: Block, pred: Variable, targets: list[Variable], results: list[Variable]
) -> None:
    """Record the operator that runs ``block`` while ``pred`` holds and gives ``targets`` its
    ``results`` after each turn.
    """
    sub = SubBlock(block.idx, tuple(v.name for v in results))
    operator = recorder.append(
        recorder.main.current_block(),
        "while",
        None,
        (pred, []),
        {"sub_block": sub},
        [list(targets), []],
    )
    bind(operator)


def loop_variable(leaf: Any) -> Any:
    """A variable for the loop to write, which starts as ``leaf``; an array, which is written in
    place anyhow, is its own.
    """
    leaf = recorder.admit(leaf)
    if not isinstance(leaf, Variable) or isinstance(leaf, ArrayVariable):
        return leaf
    out = assign(leaf)
    is_number = out.raw.is_floating_point() or out.raw.is_complex()
    # It stands for the values of later turns too: their gradients flow, and they and their
    # sequences differ from the first.
    out.lod_names = ()
    out.know(without_values(out.kind), not (is_number and torch.is_grad_enabled()))
    return out


def as_carried(var: Any, new: Any) -> Any:
    """What a turn makes of a loop variable, as a variable if that is one."""
    if isinstance(var, ArrayVariable) and new is not var:
        raise NotSupported(
            f"while_loop: a loop variable is the array {var.name!r}, but body returns "
            f"{shown(new)}; write to the array that the body is given, and return it"
        )
    if isinstance(var, Variable):
        if isinstance(new, (bool, int, float)):
            return as_variable(new, [var])
        if not isinstance(new, Variable):
            raise UsageError(
                f"while_loop: a loop variable is {shown(var)} in loop_vars, but body returns "
                f"{shown(new)}"
            )
    elif not is_same_value(var, new):
        raise UsageError(
            f"while_loop: a loop variable is {shown(var)} in loop_vars, which cannot change when "
            "the program runs, but body "
            f"returns {shown(new)} for it; make it a Tensor"
        )
    return new


def checked_condition(pred: Any) -> Variable:
    """``pred``, which must be a condition of a loop."""
    pred = recorder.admit(pred)
    if not isinstance(pred, Variable) or pred.raw.dtype is not torch.bool:
        raise DtypeError(f"while_loop: cond must return a bool Tensor, but returned {shown(pred)}")
    if pred.size not in (1, -1):
        raise DtypeError(
            f"while_loop: cond must return one element, but the shape is {list(pred.shape)}"
        )
    return pred
