"""Programs seen as Paddle's C++ sees them: views of a program, its blocks, operators and variables
with the methods of ``ProgramDesc`` and the like.

A view holds nothing; what it sets, it sets on what it shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ProgramError
from argosy.static.files.programs import dumps
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator
from argosy.static.ir.program import Program
from argosy.static.ir.uses import Uses
from argosy.static.ir.variable import Kind, Variable, samples


class LegacyFormat(ProgramError, RuntimeError):
    """A program was asked for in a format that it has none of."""


@dataclass(frozen=True, slots=True)
class VarDesc:
    """A variable seen as data."""

    variable: Variable

    def name(self) -> str:
        return self.variable.name

    def shape(self) -> list[int]:
        return list(self.variable.shape)

    def set_shape(self, shape: Sequence[int]) -> None:
        """Declare another shape; what was recorded before keeps its own."""
        raw = self.variable.raw
        self.variable.define(Kind(*samples([int(n) for n in shape], raw.dtype)))
        self.variable.block.program.changed()

    def dtype(self) -> Any:
        return self.variable.dtype

    def type(self) -> str:
        return self.variable.type

    def lod_level(self) -> int:
        return self.variable.lod_level

    def persistable(self) -> bool:
        return bool(self.variable.persistable)

    def set_persistable(self, persistable: bool) -> None:
        self.variable.persistable = persistable
        self.variable.block.program.changed()

    def stop_gradient(self) -> bool:
        return self.variable.stop_gradient

    def set_stop_gradient(self, stop: bool) -> None:
        self.variable.stop_gradient = stop

    def need_check_feed(self) -> bool:
        return self.variable.is_data and self.variable.checks_feed

    def set_need_check_feed(self, checks: bool) -> None:
        """Say whether shape and dtype of what is fed must be the declared ones."""
        self.variable.checks_feed = checks
        self.variable.block.program.changed()

    def attr_names(self) -> list[str]:
        return list(self.variable.notes)

    def has_attr(self, name: str) -> bool:
        return name in self.variable.notes

    def attr(self, name: str) -> Any:
        return self.variable.notes[name]

    def _set_attr(self, name: str, value: Any) -> None:
        """Note something on the variable, for whoever reads the program."""
        self.variable.notes = {**self.variable.notes, name: value}
        self.variable.block.program.changed()


@dataclass(frozen=True, slots=True)
class OpDesc:
    """An operator seen as data."""

    operator: Operator
    part: str = ""  # the type of the one of Paddle's operators that it stands for, if of several

    def type(self) -> str:
        return self.part or self.operator.type

    def input(self, name: str) -> list[str]:
        return self.operator.input_slots.get(name, [])

    def output(self, name: str) -> list[str]:
        return self.operator.output_slots.get(name, [])

    def input_names(self) -> list[str]:
        return self.operator.input_names

    def output_names(self) -> list[str]:
        return self.operator.output_names

    def input_arg_names(self) -> list[str]:
        return self.operator.input_arg_names

    def output_arg_names(self) -> list[str]:
        return self.operator.output_arg_names

    def attr_names(self) -> list[str]:
        return list(self.operator.all_attrs())

    def has_attr(self, name: str) -> bool:
        return self.operator.has_attr(name)

    def attr(self, name: str) -> Any:
        return self.operator.attr(name)

    def _set_attr(self, name: str, value: Any) -> None:
        self.operator._set_attr(name, value)

    def infer_var_type(self, block: Any) -> None:
        """Nothing is left to do: what an operator makes is known when it is added."""

    def check_attrs(self) -> None:
        """Nothing is left to do: attributes are checked when an operator is added."""

    def infer_shape(self, block: BlockDesc) -> None:
        """Nothing is left to do: shapes are known since the operator was recorded."""


def _parts(operator: Operator) -> list[OpDesc]:
    if operator.type != "cond":
        return [OpDesc(operator)]
    branches = [OpDesc(operator, "conditional_block") for b in operator.sub_blocks if b.ops]
    return [*branches, *(OpDesc(operator, "select_input") for _ in operator.out[0])]


@dataclass(frozen=True, slots=True)
class BlockDesc:
    """A block seen as data."""

    block: Block

    @property
    def id(self) -> int:
        return self.block.idx

    @property
    def parent(self) -> int:
        return self.block.parent_idx

    def op_size(self) -> int:
        return len(self._ops())

    def op(self, index: int) -> OpDesc:
        return self._ops()[index]

    def _ops(self) -> list[OpDesc]:
        """The operators; of a program that was read, with a choice as the operators that the file
        has for it.
        """
        is_loaded = self.block.program.is_loaded
        return [d for o in self.block.ops for d in (_parts(o) if is_loaded else [OpDesc(o)])]

    def has_var(self, name: str | bytes) -> bool:
        return _text(name) in self.block.vars

    def var(self, name: str | bytes) -> VarDesc:
        return VarDesc(self.block.var(_text(name)))

    def find_var_recursive(self, name: str | bytes) -> VarDesc | None:
        found = self.block.find_var_recursive(_text(name))
        return None if found is None else VarDesc(found)

    def all_vars(self) -> list[VarDesc]:
        return [VarDesc(variable) for variable in self.block.vars.values()]


@dataclass(frozen=True, slots=True)
class ProgramDesc:
    """A program seen as data."""

    program: Program

    def num_blocks(self) -> int:
        return len(self.program.blocks)

    def block(self, index: int) -> BlockDesc:
        return BlockDesc(self.program.blocks[index])

    def serialize_to_string(self, legacy_format: bool = False) -> bytes:
        """What ``Program.parse_from_string`` reads."""
        if legacy_format:
            raise LegacyFormat(
                "serialize_to_string(legacy_format=True): programs have one format here, which "
                "every version reads; leave legacy_format out"
            )
        notes = _notes(self.program)
        return dumps(self.program, {"notes": notes} if notes else None)

    def need_update(self) -> bool:
        """Whether the program has changed since ``flush``."""
        return self.program.flushed != self.program.version

    def flush(self) -> None:
        """Take the program as it is now for the one that ``need_update`` compares with."""
        self.program.flushed = self.program.version

    def cached_hash_str(self) -> str:
        """Equal for programs of equal content."""
        self.flush()
        return hashlib.sha256(self.serialize_to_string()).hexdigest()


def get_eager_deletion_vars(desc: ProgramDesc, skip_vars: list[str]) -> list[list[list[str]]]:
    """By block and operator, the variables that a run frees after the operator; ``skip_vars`` are
    fetched.
    """
    freed = []
    for block in desc.program.blocks:
        last = Uses(block, block.ops, [], skip_vars).ends()
        freed.append(
            [
                [n for n in last.get(i, ()) if not block.vars[n].persistable]
                for i in range(len(block.ops))
            ]
        )
    return freed


def _notes(program: Program) -> list[list[Any]]:
    """What scripts noted on operators and variables that changes no run: where, and what."""
    found: list[list[Any]] = []
    for block in program.blocks:
        found += [
            [block.idx, i, str(operator.notes)]
            for i, operator in enumerate(block.ops)
            if operator.notes
        ]
        found += [[block.idx, v.name, str(v.notes)] for v in block.vars.values() if v.notes]
    return found


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
