"""Names and sequences across the blocks of a file.

In Paddle each block that runs has a scope of its own, so an inner block may use a name again that
an outer one has, and a tensor holds its own offsets wherever it is handed. Here names are one for
all blocks that see one another, and offsets are variables beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from argosy.ops.sequences.rank import same_offsets
from argosy.static.files.decode import Node
from argosy.static.files.paddle.form import Misfit
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.variable import Variable, offset_samples


class Scope:
    """The variables that a block declares, by their names in the file."""

    def __init__(self, block: Block, outer: Scope | None) -> None:
        self.names: dict[str, str] = {}
        self._block = block
        self._outer = outer

    def known_as(self, name: str) -> str:
        """What a variable that an operator of the block names is called here."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope._outer
        return name if scope is None else scope.names[name]

    def known_as_in_file(self, name: str) -> str:
        """As ``known_as``, for a name that the operator which runs the block has: it may be that of
        an outer variable.
        """
        outer = self._outer
        given = {} if outer is None else {new: old for old, new in outer.names.items()}
        return self.known_as(given.get(name, name))

    def is_outer(self, name: str) -> bool:
        """Whether a block around this one has the name."""
        parent = self._block.parent
        return parent is not None and parent.find_var_recursive(name) is not None

    def is_shared(self, name: str, node: Node) -> bool:
        """Whether ``node`` declares again what an outer block has: what is kept from run to run is
        one for all blocks.
        """
        fields = node.entries()
        keeps = "persistable" in fields and fields["persistable"].flag()
        return keeps and name not in self._block.vars and self.is_outer(name)


class Levels:
    """Whose offsets a variable has that several operators write, or one in an inner block.

    Such a variable gets offsets of its own, which each of its writers fills.
    """

    def __init__(self, written: Iterable[str]) -> None:
        self._num_writers = Counter(written)
        self._own: dict[str, tuple[str, ...]] = {}

    def settle(self, block: OwningBlock, variable: Variable, before: tuple[str, ...]) -> None:
        """Let ``variable``, which an operator at the end of ``block`` wrote, keep sequences that
        can be found where it is; ``before`` are the offsets that it had until then.
        """
        name, levels = variable.name, variable.lod_names
        find = variable.block.find_var_recursive
        is_seen = all(find(level) is not None for level in levels)
        if variable.is_data or (self._num_writers[name] < 2 and is_seen):
            return
        own = self._own.get(name)
        if own is None and levels == before:
            return
        if own is None:
            own = self._own[name] = tuple(self._new(variable, i) for i in range(len(levels)))
        if len(own) != len(levels):
            raise Misfit(f"gives {name!r:.80} sequences of another depth than the one before it")
        for level, target in zip(levels, own, strict=True):
            if level != target:
                block.append_operator(
                    Operator(block, same_offsets.type, same_offsets, (Ref(level),), {}, Ref(target))
                )
        variable.lod_names = own

    def _new(self, variable: Variable, level: int) -> str:
        block, name = variable.block, f"{variable.name}@LEVEL{level}"
        block.add_variable(Variable(block, name, *offset_samples()))
        return name
