"""What the operators of a block use when: which variables they read, which gradients are wanted,
what is kept, what is not used any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from argosy.foundation.errors import ProgramError, nearest
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, SubBlock, leaves, names_in
from argosy.static.ir.variable import Variable


class NothingToRead(ProgramError, RuntimeError):
    """A run would read a variable that gets no value in it."""


class Uses:
    """The uses of variables by ``operators``, those of ``block`` that run; ``reads`` says, per
    operator, what it reads.
    """

    def __init__(
        self, block: Block, operators: list[Operator], feeds: Sequence[str], fetches: Sequence[str]
    ) -> None:
        self._block = block
        self._operators = operators
        self._feeds = feeds
        self._fetches = fetches
        self.reads = [self._reads(i) for i in range(len(operators))]

    def _reads(self, index: int) -> list[str]:
        operator = self._operators[index]
        if operator.sub_blocks:
            idle = self._idle_inside(operator)
            return [name for name in operator.input_arg_names if name not in idle]
        if not operator.takes_gradients:
            return operator.input_arg_names
        inputs = [x for x, _ in self.wanted_gradients(index)]
        return names_in([operator.args[0], operator.args[2]]) + inputs

    def _idle_inside(self, operator: Operator) -> set[str]:
        """What backward operators in the blocks of ``operator`` name, and nothing there reads."""
        named, read = set[str](), {*names_in(operator.args[0]), *operator.output_arg_names}
        for leaf in leaves(operator.kwargs):
            if isinstance(leaf, SubBlock):
                block = self._block.program.blocks[leaf.index]
                uses = Uses(block, block.ops, (), leaf.results)
                named.update(*(o.input_arg_names for o in block.ops))
                read.update(leaf.results, *uses.reads)
        return named - read

    def wanted_gradients(self, index: int) -> list[tuple[str, str]]:
        """The inputs of a backward operator whose gradients something reads, with those
        gradients.
        """
        operator = self._operators[index]
        later = set(self._fetches).union(*(o.input_arg_names for o in self._operators[index + 1 :]))
        inputs, outputs = names_in(operator.args[1]), operator.output_arg_names
        return [
            (x, g)
            for x, g in zip(inputs, outputs, strict=True)
            if g in later or self._variable(g).persistable
        ]

    def state(self) -> list[str]:
        """Persistable variables that are read before anything writes them."""
        written, state = set(self._feeds), dict[str, None]()
        for operator, reads in zip(self._operators, self.reads, strict=True):
            for name in reads:
                if name not in written:
                    self._require_kept(name, operator)
                    state[name] = None
            written.update(operator.output_arg_names)
        for name in self._fetches:
            if name not in written:
                self._require_kept(name, None)
                state[name] = None
        return list(state)

    def writes(self) -> list[str]:
        """Persistable variables that get another tensor: those that are fed, too."""
        fed = (name for name in self._feeds if self._block.vars[name].persistable)
        found = dict[str, None].fromkeys(fed)
        for operator in self._operators:
            for name in operator.output_arg_names:
                if self._variable(name).persistable and operator.rebinds(name):
                    found[name] = None
        return list(found)

    def ends(self, kept: Sequence[str] = ()) -> dict[int, list[str]]:
        """Variables of the block by the operator after which nothing uses them; fetches and
        ``kept`` stay.
        """
        last: dict[str, int] = {}
        for index, operator in enumerate(self._operators):
            for name in [*self.reads[index], *operator.output_arg_names]:
                last[name] = index
        stays = {*self._fetches, *kept}
        result: dict[int, list[str]] = {}
        for name, index in last.items():
            # what an enclosing block has is its to delete
            if name not in stays and name in self._block.vars:
                result.setdefault(index, []).append(name)
        return result

    def _variable(self, name: str) -> Variable:
        found = self._block.find_var_recursive(name)
        assert found is not None  # an operator of the block names it
        return found

    def _require_kept(self, name: str, operator: Operator | None) -> None:
        variable = self._block.vars.get(name)
        reader = "fetch_list" if operator is None else operator.describe()
        if variable is None:
            inner = next((b for b in self._block.program.blocks if name in b.vars), None)
            problem = (
                f"which is no variable of the program.{nearest(name, self._block.vars)}"
                if inner is None
                else (
                    f"which has a value only inside block {inner.idx}, a branch or a loop; "
                    "return it from there"
                )
            )
            raise NothingToRead(f"Executor.run: {reader} reads {name!r}, {problem}")
        if variable.is_data and not variable.persistable:
            raise NothingToRead(
                f"Executor.run: {reader} needs {name!r}, which is not fed. Declared: "
                f"{variable!r}; fed: {list(self._feeds)}"
            )
        if not variable.persistable:
            raise NothingToRead(
                f"Executor.run: {reader} reads {name!r}, but no operator writes it before. "
                "Was it recorded in another program, or does a clone for testing lack the operator?"
            )
