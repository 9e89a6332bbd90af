"""Shapes around and inside sub-blocks: what branches and loops leave behind, and what changes in a
block when shapes outside do.

Inference reads an environment, what is known of variables by name where a block begins, and returns
the one where it ends. Variables are told once, when all of it has agreed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.registry import Registry
from argosy.static.ir.block import Block
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
from argosy.static.ir.variable import Kind, Known, Variable
from argosy.static.record.infer import infer
from argosy.static.record.kinds import is_same_kind, join, join_branches

# What is known of variables by name; what is not in it is as the variables say.
Environment = dict[str, Known]


def join_writes(blocks: Sequence[Block], names: Sequence[str]) -> None:
    """Let variables that branches write be what any of them leaves."""
    for name in dict.fromkeys(name for block in blocks for name in block.known):
        variable = _variable(blocks[0], name)
        if variable.op is None and not variable.is_leaf:  # it had no value before
            left = [block.known[name] for block in blocks if name in block.known]
        else:
            left = [block.known.get(name, variable.known) for block in blocks]
        joined = _joined(left, names[: len(left)], name)
        variable.know(joined.kind, joined.stops)


def _joined(found: Sequence[Known], names: Sequence[str], name: str) -> Known:
    kind = join_branches([known.kind for known in found], names, f"variable {name!r}")
    return Known(kind, all(known.stops for known in found))


def settle(block: Block, pairs: Sequence[tuple[Variable, Variable]]) -> None:
    """Find the kinds of what a loop carries and writes: extents that a turn changes are unknown.

    ``pairs`` are loop variables with what a turn makes of them. It is called while ``block``, the
    loop's, is recorded.
    """
    written = dict(block.known)
    with block.program.in_block(block.parent_idx):
        before: Environment = {var.name: var.known for var, _ in pairs}
        before.update((name, _variable(block, name).known) for name in written)
        inference = Inference({name: before[name].stops for name in written})
        for name, known in inference.settled(block, pairs, before, written).items():
            _variable(block, name).know(known.kind, known.stops)
        inference.apply(block.program.blocks)


@dataclass(frozen=True)
class Inference:
    """Finds the kinds in blocks anew, after those around them changed.

    ``flags`` says which variables let no gradient pass when the blocks were recorded. What is found
    waits, by the number of the block, until it is applied.
    """

    flags: Mapping[str, bool]
    found: dict[int, Environment] = field(default_factory=dict)

    def settled(
        self,
        block: Block,
        pairs: Sequence[tuple[Variable, Variable]],
        before: Environment,
        after: Environment,
    ) -> Environment:
        """``before`` without what a turn of the loop changes; ``after`` is what a first turn makes
        of it.

        Each round only takes knowledge away, so there is a last one.
        """
        while True:
            joined, is_settled = _agreement(pairs, before, after, block.known)
            if is_settled:
                return joined
            before = joined
            after = self.after(block, before)

    def after(self, block: Block, before: Environment) -> Environment:
        """What is known at the end of ``block``."""
        own = {name: variable.stop_gradient for name, variable in block.vars.items()}
        inner = Inference({**self.flags, **own}, self.found)
        env = self.found[block.idx] = dict(before)
        for operator in block.ops:
            if operator.op is not None and operator.role == FORWARD:
                inner.call(operator, env)
            elif operator.op is None and operator.type in _special:
                _special.get(operator.type)(inner, operator, env)
        return env

    def call(self, operator: Operator, env: Environment) -> None:
        """Note what a call of an op of the table makes of what is known."""
        given: list[tuple[str, Known]] = []

        def kind(leaf: Any) -> Any:
            if not isinstance(leaf, (Ref, Number)):
                return leaf
            given.append((leaf.name, known_in(env, operator.block, leaf.name)))
            return given[-1][1].kind

        named = {key: value for key, value in operator.kwargs.items() if key != ONLY_IF}
        assert operator.op is not None
        result = infer(operator.op, mapped(operator.args, kind), mapped(named, kind))
        # What no gradient reached because none reached the inputs follows them; the rest was
        # stopped on purpose.
        was_implied = all(self.flags.get(name, known.stops) for name, known in given)
        stops = all(known.stops for _, known in given)
        for out, found in zip(leaves(operator.out), leaves(result), strict=True):
            if not isinstance(found, Kind) or operator.mutates(out.name):
                continue
            if not _variable(operator.block, out.name).persistable:
                is_number = found.first.is_floating_point() or found.first.is_complex()
                own = known_in(env, operator.block, out.name).stops
                env[out.name] = Known(found, stops if was_implied and is_number else own)

    def apply(self, blocks: Sequence[Block]) -> None:
        """Tell the variables what was found."""
        for index, env in self.found.items():
            block = blocks[index]
            for name, known in env.items():
                if name in block.vars:
                    block.vars[name].define(known.kind, known.stops)
                elif name in block.known:
                    block.known[name] = known


def known_in(env: Environment, block: Any, name: str) -> Known:
    """What an environment, or else the variable itself, says of a variable of ``block``."""
    return env[name] if name in env else _variable(block, name).known


def _variable(block: Any, name: str) -> Variable:
    found: Variable | None = block.find_var_recursive(name)
    assert found is not None  # an operator of the block names it
    return found


def _agreement(
    pairs: Sequence[tuple[Variable, Variable]],
    before: Environment,
    after: Environment,
    written: Iterable[str],
) -> tuple[Environment, bool]:
    """What is known before a turn joined with what is known after it, and whether nothing was lost
    by that.
    """
    joined, end, is_settled = dict(before), dict(after), True
    for position, (var, new) in enumerate(pairs):
        own = before[var.name]
        made = end.get(new.name) or before.get(new.name) or new.known
        names = ("loop_vars", "what body returns")
        kind = join([own.kind, made.kind], names, f"while_loop: loop variable {position}")
        is_settled = is_settled and is_same_kind(kind, own.kind)
        joined[var.name] = end[var.name] = Known(kind, own.stops and made.stops)
    for name in written:
        was = before[name]
        now = _joined([was, end[name]], ("front of the loop", "its body"), name)
        is_settled = is_settled and is_same_kind(now.kind, was.kind) and now.stops == was.stops
        joined[name] = now
    return joined, is_settled


# -- special operators
# --------------------------------------------------------------------------------------------------

# What notes the effect of a special operator in an environment.
Reinfer = Callable[[Inference, Operator, Environment], None]

_special: Registry[Reinfer] = Registry("special operator with shapes of its own")


def reinfers(type: str) -> Callable[[Reinfer], Reinfer]:
    """Let the function below note what special operators of a type make of what is known; those
    without one leave it as it was recorded.
    """
    return lambda function: _special.add(type, function)


@reinfers("while")
def _reinfer_while(inference: Inference, operator: Operator, env: Environment) -> None:
    [block], [sub] = operator.sub_blocks, _subs(operator)
    targets = [_variable(operator.block, ref.name) for ref in operator.out[0]]
    results = [_variable(block, name) for name in sub.results]
    pairs = list(zip(targets, results, strict=True))
    changed = [*(var.name for var in targets), *block.known]
    before = {**env, **{name: known_in(env, operator.block, name) for name in changed}}
    joined = inference.settled(block, pairs, before, inference.after(block, before))
    env.update((name, joined[name]) for name in changed)


@reinfers("cond")
def _reinfer_cond(inference: Inference, operator: Operator, env: Environment) -> None:
    blocks, subs = operator.sub_blocks, _subs(operator)
    names = [f"block {block.idx}" for block in blocks]
    ends = [inference.after(block, env) for block in blocks]
    columns = [
        [known_in(end, block, name) for name in sub.results]
        for block, sub, end in zip(blocks, subs, ends, strict=True)
    ]
    written = dict.fromkeys(name for block in blocks for name in block.known)
    left = {
        name: _joined([known_in(end, operator.block, name) for end in ends], names, name)
        for name in written
    }
    env.update(left)
    for position, (ref, *column) in enumerate(zip(operator.out[0], *columns, strict=True)):
        kind = join_branches([known.kind for known in column], names, f"result {position}")
        own = known_in(env, operator.block, ref.name).stops
        env[ref.name] = Known(kind, own and all(known.stops for known in column))


def _subs(operator: Operator) -> list[SubBlock]:
    return [leaf for leaf in leaves(operator.kwargs) if isinstance(leaf, SubBlock)]
