"""Paddle's program files read: ``__model__`` of 1.x and ``.pdmodel`` of 2.x, which are one format.

Everything is checked before anything uses it: the bytes (``wire``, ``schema``), names, shapes and
blocks, that each operator has its form and names variables of the program. Nothing in a file runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from argosy.foundation.errors import ArgosyError, CheckpointError, NotSupported
from argosy.framework.mode import switch
from argosy.static.files.decode import Node
from argosy.static.files.paddle import (
    control,
    schema,
    sequences,  # noqa: F401  it defines types
)
from argosy.static.files.paddle.form import Misfit, OpForm, calls_of, found_kinds, is_neutral
from argosy.static.files.paddle.recurrence import RECURRENT, Recurrence
from argosy.static.files.paddle.scoping import Levels, Scope
from argosy.static.files.paddle.variable import add_variable
from argosy.static.files.verify import verify_loaded
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Variable
from argosy.static.record import op_types
from argosy.static.record.append_op import append_op
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.carry import carry
from argosy.static.record.ranks import RANK_TABLE
from argosy.static.record.recorder import program_guard
from argosy.tensor.engine import unique_name

_DEEPEST_BLOCK = 32  # branches and loops inside of one another
_MAKE_ARRAYS = ("lod_tensor_to_array",)  # the array that they write is a new one
# What functions of the face raise where a file gives them what no script would.
_REFUSALS = (
    ArgosyError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class UnknownOperators(NotSupported, CheckpointError):
    """A program has operators that nothing here computes."""


class Loaded(NamedTuple):
    """A program of a file, and the names of what is fed and fetched, in their order."""

    program: Program
    feeds: list[str]
    fetches: list[str]


def loads(data: bytes, source: str) -> Loaded:
    """The program in ``data``; ``source`` names it in messages."""
    root = Node(schema.decoded(data, source), source)
    return _Reading(root.entries()["blocks"], source).run()


class _Reading:
    """One call of ``loads``."""

    def __init__(self, node: Node, source: str) -> None:
        self._source = source
        self._blocks = [item.entries() for item in node.items()]
        if not self._blocks:
            raise node.refused("a list of one block or more")
        self._forms = [[OpForm.of(n) for n in b["ops"].items()] for b in self._blocks]
        self._program = Program()
        self._program.is_loaded = True
        self._problems: dict[str, str] = {}  # by type
        self._filled: set[int] = set()
        self._counters: dict[str, int] = {}  # of names that are invented

    def run(self) -> Loaded:
        feeds, fetches = self._columns("feed", "Out"), self._columns("fetch", "X")
        self._add_blocks()
        self._prefix = self._unused_prefix()
        self._add_variables(feeds)
        self._forms = [
            [form.renamed(self._scopes[index].known_as) for form in forms]
            for index, forms in enumerate(self._forms)
        ]
        self._wanted = {n for forms in self._forms for f in forms for n in f.reads}
        self._levels = Levels(
            name
            for forms in self._forms
            for form in forms
            if not control.runs_block(form)  # it only repeats what its block writes
            for name in form.writes
        )
        self._fill(self._program.blocks[0])
        if self._problems:
            shown = "; ".join(
                f"{name!r}{f' ({reason})' if reason else ''}"
                for name, reason in sorted(self._problems.items())
            )
            raise UnknownOperators(
                f"{self._source} has operators that are not supported here: {shown}"
            )
        self._check_names("feed", feeds)
        self._check_names("fetch", fetches)
        verify_loaded(self._program, self._source)
        return Loaded(self._program, feeds, fetches)

    def _unused_prefix(self) -> str:
        """What names that are invented here begin with, and none in the file does."""
        names = [
            node.entries()["name"].name()
            for fields in self._blocks
            for node in fields["vars"].items()
        ]
        prefix = "read_"
        while any(name.startswith(prefix) for name in names):
            prefix = f"read_{prefix}"
        return prefix

    def _add_variables(self, feeds: list[str]) -> None:
        """Add the variables of all blocks, the outer ones first: what an inner one calls as an
        outer does gets another name.
        """
        self._scopes: list[Scope] = []
        for block, fields in zip(self._program.blocks, self._blocks, strict=True):
            scope = Scope(block, self._scopes[block.parent_idx] if block.idx else None)
            self._scopes.append(scope)
            for node in fields["vars"].items():
                name = node.entries()["name"].name()
                if scope.is_shared(name, node):
                    continue
                hidden = block.idx and scope.is_outer(name)
                alias = f"{self._prefix}{block.idx}_{name}" if hidden else ""
                add_variable(block, node, feeds, alias)
                scope.names[name] = alias or name

    def _columns(self, kind: str, slot: str) -> list[str]:
        """What feed or fetch operators name, in the order of their columns."""
        found: dict[int, str] = {}
        for form in self._forms[0]:
            names = (form.outputs if kind == "feed" else form.inputs).get(slot, [])
            if form.type == kind:
                column = form.attrs.get("col", 0)
                if len(names) != 1 or type(column) is not int or column in found:
                    raise CheckpointError(
                        f"{self._source} is damaged: a {kind} operator with {names} at {column!r}"
                    )
                found[column] = names[0]
        return [found[column] for column in sorted(found)]

    def _check_names(self, what: str, names: list[str]) -> None:
        known = self._program.blocks[0].vars
        unknown = [name for name in names if name not in known]
        if unknown:
            raise CheckpointError(
                f"{self._source} is damaged: it has a {what} of {unknown[0]!r}, which is no "
                "variable of the program"
            )

    def _add_blocks(self) -> None:
        depths: list[int] = []
        for index, fields in enumerate(self._blocks):
            low, high = (0, index - 1) if index else (-1, -1)
            parent = fields["parent_idx"].integer(low, high)
            fields["idx"].integer(index, index)
            depths.append(depths[parent] + 1 if index else 0)
            if depths[-1] > _DEEPEST_BLOCK:
                raise fields["parent_idx"].refused(f"a block at most {_DEEPEST_BLOCK - 1} deep")
        self._program.blocks = [
            Block(self._program, i, fields["parent_idx"].value)
            for i, fields in enumerate(self._blocks)
        ]

    def _fill(self, block: Block) -> None:
        """Add the operators of a block, those of inner blocks where they are run."""
        self._filled.add(block.idx)
        whole = {n for f in self._forms[block.idx] if f.type in _MAKE_ARRAYS for n in f.writes}
        for name, variable in block.vars.items():
            if isinstance(variable, ArrayVariable) and name not in whole:
                block.append_operator(Operator(block, "create_array", None, (), {}, Ref(name)))
        for form in self._forms[block.idx]:
            if form.type in ("feed", "fetch"):
                continue
            try:
                self._add_operators(form, block)
            except Misfit as misfit:
                self._problems.setdefault(form.type, str(misfit))

    def _add_operators(self, form: OpForm, block: Block) -> None:
        self._require_variables(form, block)
        inner = control.sub_block_of(form, block)
        if inner is not None:
            if inner in self._filled:
                raise Misfit(f"runs block {inner}, which another operator runs")
            if form.type == RECURRENT:
                self._add_recurrence(form, block, inner)
                return
            self._fill(self._program.blocks[inner])
        with self._recording(block):
            special = control.operators_of(form, block)
        if special is not None:
            for operator in special:
                block.append_operator(operator)
            return
        try:
            calls = calls_of(form, block, self._wanted)
        except Misfit:
            if not op_types.is_defined(form.type):
                raise
            self._record(form, block)
            return
        for operator in calls:
            block.append_operator(operator)
            self._carry(operator)

    def _add_recurrence(self, form: OpForm, block: Block, inner: int) -> None:
        step = self._program.blocks[inner]
        loop = Recurrence(form, block, step, self._scopes[inner].known_as_in_file)
        with self._recording(block):
            loop.begin()
        self._fill(step)
        with self._recording(block):
            loop.finish()

    def _require_variables(self, form: OpForm, block: Block) -> None:
        for name in form.reads:
            if block.find_var_recursive(name) is None:
                raise Misfit(f"reads {name!r:.80}, which is no variable of the program")
        for name in form.inputs.get("RankTable", []):
            table = block.find_var_recursive(name)
            if table is None or table.type != RANK_TABLE:
                raise Misfit(f"has {name!r:.80}, which is no table of ranks")

    def _record(self, form: OpForm, block: Block) -> None:
        """Add an operator by what records those of its type that scripts append."""
        known = op_types.names_of(form.type)
        attrs = {
            name: value
            for name, value in form.attrs.items()
            if name in (*known, "op_role") or not is_neutral(form.type, name, value)
        }
        find = block.find_var_recursive
        outputs = {
            slot: names
            for slot, names in form.outputs.items()
            if all(find(name) is not None for name in names)
        }
        with self._recording(block):
            append_op(block, form.type, form.inputs, outputs, attrs)

    @contextlib.contextmanager
    def _recording(self, block: Block) -> Iterator[None]:
        """Let functions of the face record into a block."""
        try:
            with (
                switch.recording_here(),
                self._naming(),
                program_guard(self._program),
                self._program.in_block(block.idx),
            ):
                yield
        except _REFUSALS as error:
            raise Misfit(str(error) or type(error).__name__) from error

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Let new variables have names that no file has: those of one reading go on counting."""
        old = unique_name.switch(self._counters, self._prefix)
        try:
            yield
        finally:
            unique_name.switch(*old)

    def _declare_shapes(self, operator: Operator) -> None:
        """Tell results the number of rows that they have: Paddle knows it only in a run where
        sequences are made, and files say 0 or nothing.
        """
        for variable, kind in zip(*found_kinds(operator), strict=True):
            if not variable.is_leaf and variable.shape[:1] != kind.shape[:1]:
                variable.define(kind)

    def _carry(self, operator: Operator) -> None:
        """Note on the results of a call the sequences of what it takes."""
        if operator.op is None:
            return
        find = operator.block.find_var_recursive
        given = [v for name in operator.input_arg_names if (v := find(name)) is not None]
        made: list[Variable] = [v for n in operator.output_arg_names if (v := find(n)) is not None]
        before = [v.lod_names for v in made]
        if given and given[0].lod_names:
            self._declare_shapes(operator)
        carry(operator.op, given, made)
        for variable, names in zip(made, before, strict=True):
            self._levels.settle(operator.block, variable, names)
