"""What an operator with sub-blocks takes from the blocks around it, and what it changes there.

Such an operator names both, as any other does: ``args[1]`` are the variables that its blocks read,
``out[0]`` its results and ``out[1]`` other variables of enclosing blocks that its blocks write. So
pruning, gradients and lowering need not look inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from argosy.static.ir.block import Block
from argosy.static.ir.operator import Number, Operator, Ref, SubBlock, leaves, mapped, names_in


class Traffic:
    """The names of enclosing blocks that one block reads before it writes them, and those that it
    writes.
    """

    def __init__(self, block: Block, results: Iterable[str] = ()) -> None:
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        for operator in block.ops:
            self._read(block, operator.input_arg_names)
            self.writes.update(
                (name, None) for name in operator.output_arg_names if name not in block.vars
            )
        self._read(block, results)

    def _read(self, block: Block, names: Iterable[str]) -> None:
        self.reads.update(
            (name, None) for name in names if name not in block.vars and name not in self.writes
        )


def bind(operator: Operator) -> None:
    """Note on an operator what its blocks read and write around them."""
    blocks = operator.block.program.blocks
    inner = [leaf for leaf in leaves(operator.kwargs) if isinstance(leaf, SubBlock)]
    traffic = [Traffic(blocks[sub.index], sub.results) for sub in inner]
    results = operator.output_arg_names[: len(names_in(operator.out[0]))]
    written = {name: None for t in traffic for name in t.writes if name not in results}
    reads = {name: None for t in traffic for name in t.reads}
    if operator.special is not None and operator.special.may_skip_block:
        kept = [*results, *written]
    else:  # a branch may leave alone what another writes
        kept = [name for name in written if any(name not in t.writes for t in traffic)]
    reads.update((name, None) for name in kept if _has_value(operator, name))
    operator.args = (operator.args[0], [Ref(name) for name in reads], *operator.args[2:])
    operator.out = [operator.out[0], [Ref(name) for name in written]]


def _has_value(operator: Operator, name: str) -> bool:
    """Whether a variable holds something when the run comes to ``operator``."""
    variable = operator.block.find_var_recursive(name)
    if variable is None or variable.persistable or variable.is_data:
        return variable is not None
    block: Any = operator.block
    until: Operator | None = operator
    while block is not None:
        for earlier in block.ops:
            if earlier is until:
                break
            if name in earlier.output_arg_names:
                return True
        until = _runner(block)
        block = block.parent
    return False


def _runner(block: Block) -> Operator | None:
    """The operator that runs ``block``; None while it is being recorded and for the global
    block.
    """
    parent = block.parent
    return None if parent is None else next((o for o in parent.ops if block in o.sub_blocks), None)


def renamed(leaf: Any, names: Mapping[str, str]) -> Any:
    """A leaf of an operator's arguments with the variables that it names under their new names."""
    if isinstance(leaf, SubBlock):
        return SubBlock(leaf.index, tuple(names.get(name, name) for name in leaf.results))
    return (
        replace(leaf, name=names.get(leaf.name, leaf.name))
        if isinstance(leaf, (Ref, Number))
        else leaf
    )


def rename_reads(operator: Operator, names: Mapping[str, str]) -> None:
    """Let the blocks that an operator runs read other variables; they write none of these."""
    for block in operator.sub_blocks:
        for inner in block.ops:
            inner.args = mapped(inner.args, lambda leaf: renamed(leaf, names))
            inner.kwargs = mapped(inner.kwargs, lambda leaf: renamed(leaf, names))
            rename_reads(inner, names)
    operator.kwargs = mapped(operator.kwargs, lambda leaf: renamed(leaf, names))


def refresh(blocks: Sequence[Block]) -> None:
    """Bind all operators with blocks anew, inner ones first, after operators were taken out."""
    for block in reversed(blocks):
        for operator in block.ops:
            if operator.sub_blocks:
                bind(operator)
