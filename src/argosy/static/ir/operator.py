"""Operator: one recorded call of an op of the table, as plain data.

Arguments keep the order of the call. Where a variable stood there is a ``Ref`` (its tensor) or a
``Number`` (its one element as a Python number); everything else is an attribute. An operator whose
``op`` is None is not a call of the table: the lowering knows its type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from argosy.foundation.dtypes import Code
from argosy.foundation.errors import UsageError, nearest
from argosy.ops.array.indexing import setitem_
from argosy.ops.spelling import Spelling
from argosy.ops.table import Op
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.special import KINDS, SpecialKind

# What an operator is there for; a test program keeps the forward part only.
FORWARD, BACKWARD, OPTIMIZE = "forward", "backward", "optimize"
_ROLE_NUMBERS = {FORWARD: 0, BACKWARD: 1, OPTIMIZE: 2}  # what scripts find as the attribute op_role

# Paddle's numbers for them: 256 marks the operators at a loss, 16 those of learning rates.
ROLES_BY_NUMBER = {0: FORWARD, 256: FORWARD, 1: BACKWARD, 257: BACKWARD, 2: OPTIMIZE, 16: OPTIMIZE}

# The argument, beside those of the op, that lists variables without whose truth an operator does
# not run.
ONLY_IF = "only_if"

# The argument of a backward operator that names where recomputed stretches end.
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True)
class Ref:
    """The tensor of a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """The one element of a variable as a Python number, times ``scale``."""

    name: str
    scale: float = 1.0

    def __mul__(self, factor: float) -> Number:
        return Number(self.name, self.scale * factor)


@dataclass(frozen=True, slots=True)
class SubBlock:
    """A block that an operator runs, and the variables in it or around it that are its results."""

    index: int
    results: tuple[str, ...] = ()


def mapped(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """Rebuild nested lists, tuples (named ones too) and dicts with ``leaf`` applied to everything
    else.
    """
    if isinstance(tree, tuple):
        items = [mapped(v, leaf) for v in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, list):
        return [mapped(v, leaf) for v in tree]
    if isinstance(tree, dict):
        return {k: mapped(v, leaf) for k, v in tree.items()}
    return leaf(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """Everything in nested lists, tuples and dicts that is none of these."""
    if isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    else:
        yield tree


def names_in(tree: Any) -> list[str]:
    """The variables that a tree of arguments mentions, in order."""
    return [leaf.name for leaf in leaves(tree) if isinstance(leaf, (Ref, Number))]


class Operator:
    """One step of a program. Its arguments are replaced, never changed."""

    _changed: tuple[Any, Any, frozenset[str]] | None = None

    def __init__(
        self,
        block: OwningBlock,
        type: str,
        op: Op | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        role: str = FORWARD,
        name_scope: str = "",
        where: str = "",
        device: str = "",
    ) -> None:
        self.block = block
        self.type = type
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.out = out
        self.role = role
        self.name_scope = name_scope
        self.where = where
        self.device = device
        self.notes: dict[str, Any] = {}  # attributes that scripts set and no run reads

    # -- what scripts read
    # --------------------------------------------------------------------------------------

    @property
    def special(self) -> SpecialKind | None:
        """Its kind, if it is no call of the op table."""
        return KINDS.get(self.type) if self.op is None else None

    @property
    def is_mark(self) -> bool:
        return self.special is not None and self.special.is_mark

    @property
    def takes_gradients(self) -> bool:
        return self.special is not None and self.special.takes_gradients

    @property
    def named_args(self) -> dict[str, Any]:
        """All arguments, by the parameters that take them."""
        kind = self.op or self.special
        params = () if kind is None else kind.params
        named = {(params[i] if i < len(params) else f"arg{i}"): a for i, a in enumerate(self.args)}
        return {**named, **self.kwargs}

    @property
    def inputs(self) -> dict[str, list[str]]:
        """Names of the variables read, by the parameter of the op that takes them."""
        found = {key: names_in(value) for key, value in self.named_args.items()}
        return {key: names for key, names in found.items() if names}

    @property
    def outputs(self) -> dict[str, list[str]]:
        """Names of the variables written."""
        return {"Out": self.output_arg_names}

    @property
    def attrs(self) -> dict[str, Any]:
        """Arguments without a variable in them."""
        return {key: value for key, value in self.named_args.items() if not names_in(value)}

    @property
    def input_names(self) -> list[str]:
        return sorted(self.input_slots)

    @property
    def output_names(self) -> list[str]:
        return sorted(self.output_slots)

    @property
    def input_arg_names(self) -> list[str]:
        return names_in([list(self.args), self.kwargs])

    @property
    def output_arg_names(self) -> list[str]:
        return names_in(self.out)

    @property
    def attr_names(self) -> list[str]:
        return list(self.all_attrs())

    # -- the same in Paddle's words
    # ------------------------------------------------------------------------------

    @property
    def spelling(self) -> Spelling | None:
        """Paddle's words for it, if it is a call of the op table."""
        return None if self.op is None else self.op.spelling(self.type)

    @property
    def input_slots(self) -> dict[str, list[str]]:
        """Names of the variables read, by Paddle's slots."""
        words = self.spelling or self.special
        found: dict[str, list[str]] = {}
        for parameter, value in self.named_args.items():
            names = names_in(value)
            slot = (
                parameter if words is None else words.slot(parameter, not isinstance(value, list))
            )
            if slot and names:  # there is no word for offsets of sequences
                found.setdefault(slot, []).extend(names)
        return found

    @property
    def output_slots(self) -> dict[str, list[str]]:
        """Names of the variables written, by Paddle's slots."""
        names, spelling = self.output_arg_names, self.spelling
        if spelling is None:
            return {"Out": names}
        read = self.inputs
        changed = {slot: read[p] for p, slot in spelling.changed.items() if p in read}
        return {**spelling.results(names), **changed}

    @property
    def slot_attrs(self) -> dict[str, Any]:
        """Arguments without a variable in them, and defaults, as Paddle's attributes."""
        spelling = self.spelling
        if self.op is None or spelling is None:
            return self.attrs
        given = {k: p.default for k, p in self.op.signature.parameters.items()}
        given = {k: v for k, v in given.items() if v is not inspect.Parameter.empty}
        given.update(self.named_args)
        attrs = spelling.written({k: v for k, v in given.items() if not names_in(v)})
        for name, (what, slot) in spelling.of_slots.items():
            attrs[name] = self._shape_of(slot) if what == "shape" else self._dtype_code(slot)
        return attrs

    def _dtype_code(self, slot: str) -> int:
        """Paddle's number of the dtype of what a slot takes."""
        variable = self.block.find_var_recursive(self.input_slots[slot][0])
        return -1 if variable is None else Code(variable.raw.dtype)

    def _shape_of(self, slot: str) -> list[int]:
        variable = self.block.find_var_recursive(self.input_slots[slot][0])
        return [] if variable is None else list(variable.shape)

    @property
    def sub_blocks(self) -> list[Any]:
        """The blocks that it runs."""
        blocks = self.block.program.blocks
        return [blocks[leaf.index] for leaf in leaves(self.kwargs) if isinstance(leaf, SubBlock)]

    def mutates(self, name: str) -> bool:
        """Whether it writes to a variable through the tensor that it is given."""
        inner = self._writers(name)
        if inner:
            return any(operator.mutates(name) for operator in inner)
        return name in self._changed_names() and not self.copies_first

    def _changed_names(self) -> frozenset[str]:
        """``changed_in_place``, kept as long as the arguments stay: one update may change thousands
        of variables, and is asked about each.
        """
        kept = self._changed
        if kept is None or kept[0] is not self.args or kept[1] is not self.kwargs:
            kept = self._changed = (self.args, self.kwargs, frozenset(self.changed_in_place))
        return kept[2]

    @property
    def changed_in_place(self) -> list[str]:
        """The variables whose tensors its op changes; those inside the blocks that it runs do not
        count.
        """
        if self.op is None:
            return []
        named = self.named_args
        return names_in([named[param] for param in self.op.traits.mutates if param in named])

    @property
    def copies_first(self) -> bool:
        """Whether it works on a copy of what it changes: ``x[0] = y`` must not reach other values
        that share the memory of ``x``.
        """
        if self.op is not setitem_:
            return False
        variable = self.block.find_var_recursive(self.output_arg_names[0])
        return variable is not None and not variable.persistable

    def rebinds(self, name: str) -> bool:
        """Whether it gives a variable another tensor."""
        inner = self._writers(name)
        if inner:
            return any(operator.rebinds(name) for operator in inner)
        return name in self.output_arg_names and not self.mutates(name)

    def _writers(self, name: str) -> list[Operator]:
        return [o for block in self.sub_blocks for o in block.ops if name in o.output_arg_names]

    @property
    def idx(self) -> int:
        """Position in the block."""
        return next(i for i, operator in enumerate(self.block.ops) if operator is self)

    def input(self, name: str) -> list[str]:
        return self._slot(self.input_slots, name, "input")

    def output(self, name: str) -> list[str]:
        return self._slot(self.output_slots, name, "output")

    def _slot(self, slots: dict[str, list[str]], name: str, kind: str) -> list[str]:
        if name not in slots:
            raise UsageError(
                f"operator {self.type}: no {kind} {name!r}; it has "
                f"{sorted(slots)}.{nearest(name, slots)}"
            )
        return slots[name]

    def has_attr(self, name: str) -> bool:
        return name in self.all_attrs()

    def attr(self, name: str) -> Any:
        attrs = self.all_attrs()
        if name not in attrs:
            raise UsageError(f"operator {self.type}: no attribute {name!r}; it has {sorted(attrs)}")
        return attrs[name]

    def all_attrs(self) -> dict[str, Any]:
        return {
            **self.slot_attrs,
            "op_role": _ROLE_NUMBERS[self.role],
            "op_namescope": f"/{self.name_scope}/" if self.name_scope else "/",
            "op_device": self.device,
            **self.notes,
        }

    def _set_attr(self, name: str, value: Any) -> None:
        """Change an attribute; one that the call does not have is only noted."""
        if name == "op_device":
            self.device = value
        elif name == "op_namescope":
            self.name_scope = str(value).strip("/")
        elif name == "op_role":
            self.role = ROLES_BY_NUMBER[int(value)]
        elif (parameter := self._parameter_of(name)) in self.attrs:
            spelling = self.spelling
            read = {} if spelling is None else spelling.read({**self.slot_attrs, name: value})
            self._put(parameter, read.get(parameter, value))
        else:
            self.notes[name] = value
        self.block.program.changed()

    def _parameter_of(self, attr: str) -> str:
        """The parameter that an attribute is Paddle's word for."""
        words = {} if self.spelling is None else self.spelling.words
        return next((name for name, word in words.items() if word.attr == attr), attr)

    def _put(self, name: str, value: Any) -> None:
        if name in self.kwargs:
            self.kwargs = {**self.kwargs, name: value}
            return
        position = list(self.named_args).index(name)
        self.args = (*self.args[:position], value, *self.args[position + 1 :])

    def enter_test_mode(self) -> None:
        """Set the switches of a test program."""
        for name, value in self.op.traits.test_attrs.items() if self.op is not None else ():
            if name in self.attrs:
                self._put(name, value)

    def leave_test_mode(self) -> None:
        """Set the switches that a test program sets the other way."""
        for name, value in self.op.traits.test_attrs.items() if self.op is not None else ():
            if self.attrs.get(name) is value:
                self._put(name, not value)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{key}={_shown(value)}" for key, value in self.named_args.items() if value is not None
        )
        return f"[{', '.join(self.output_arg_names)}] = {self.type}({shown})"

    __str__ = __repr__

    def _to_readable_code(self, skip_op_callstack: bool = True) -> str:
        return repr(self)

    def describe(self) -> str:
        """The operator in an error message: number, type and the line of the script that recorded
        it.
        """
        where = f", recorded at {self.where}" if self.where else ""
        return f"operator {self.idx} {self.type!r}{where}"

    # -- copies
    # ----------------------------------------------------------------------------------------------

    def copy_to(self, block: OwningBlock, for_test: bool = False) -> Operator:
        args, kwargs = self.args, dict(self.kwargs)
        if for_test and self.op is not None:
            params, values = self.op.params, self.op.traits.test_attrs
            args = tuple(
                values.get(params[i], a) if i < len(params) and not names_in(a) else a
                for i, a in enumerate(args)
            )
            kwargs = {key: values.get(key, value) for key, value in kwargs.items()}
        copy = Operator(
            block,
            self.type,
            self.op,
            args,
            kwargs,
            self.out,
            self.role,
            self.name_scope,
            self.where,
            self.device,
        )
        copy.notes = dict(self.notes)
        return copy


def _shown(value: Any) -> str:
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, SubBlock):
        return f"block {value.index}" + (
            f" -> [{', '.join(value.results)}]" if value.results else ""
        )
    if isinstance(value, Number):
        return (
            f"float({value.name})" if value.scale == 1.0 else f"{value.scale} * float({value.name})"
        )
    if isinstance(value, (list, tuple)):
        shown = ", ".join(_shown(v) for v in value[:8])
        return f"[{shown}{', ...' if len(value) > 8 else ''}]"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"array({value.dtype}{list(value.shape)})"
    return repr(value).removeprefix("torch.")
