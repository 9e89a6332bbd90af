"""An operator as Paddle's files have it: type, variables by slot, attributes; and the operator of a
program that computes it.

What an op of the table is called in Paddle stands with the op (``ops/spelling.py``), and is read
here the other way. Where several ops have one type, the first whose words fit is meant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import torch

from argosy.foundation.errors import ArgosyError
from argosy.ops import table
from argosy.ops.spelling import Spelling, Word, is_equal
from argosy.ops.table import Op
from argosy.static.files.decode import Node
from argosy.static.files.forms import problem_of
from argosy.static.files.paddle import attribute, proto
from argosy.static.ir.block import Block
from argosy.static.ir.operator import (
    ROLES_BY_NUMBER,
    Number,
    Operator,
    Ref,
    leaves,
    mapped,
    names_in,
)
from argosy.static.ir.variable import Kind, Variable
from argosy.static.record.infer import infer
from argosy.static.record.op_types import HINTS

_NEUTRAL: tuple[Any, ...] = (False, 0, 0.0, "", [], -1, None)
_TENSOR_LISTS = ("Tensors", "list[Tensor]", "Sequence[Tensor]")


class OpForm(NamedTuple):
    """What a file says of an operator."""

    type: str
    inputs: dict[str, list[str]]  # without slots that take nothing
    outputs: dict[str, list[str]]
    attrs: dict[str, Any]
    hints: dict[str, Any]

    @classmethod
    def of(cls, node: Node) -> OpForm:
        fields = node.entries()
        attrs: dict[str, Any] = {}
        for item in fields["attrs"].items():
            name = item.entries()["name"].name()
            if name in attrs:
                raise item.refused("an attribute that the operator does not have yet")
            attrs[name] = attribute.value_of(item)
        hints = {name: value for name, value in attrs.items() if name in HINTS}
        return cls(
            fields["type"].name(),
            _slots(fields["inputs"]),
            _slots(fields["outputs"]),
            {name: value for name, value in attrs.items() if name not in HINTS},
            hints,
        )

    def renamed(self, name_of: Callable[[str], str]) -> OpForm:
        """The same with other names of variables."""
        inputs, outputs = (
            {slot: [name_of(name) for name in names] for slot, names in by_slot.items()}
            for by_slot in (self.inputs, self.outputs)
        )
        attrs = {
            key: mapped(value, lambda leaf: Ref(name_of(leaf.name)) if type(leaf) is Ref else leaf)
            for key, value in self.attrs.items()
        }
        return OpForm(self.type, inputs, outputs, attrs, self.hints)

    @property
    def reads(self) -> list[str]:
        """The variables of its slots, and those in the place of attributes."""
        return [*(n for names in self.inputs.values() for n in names), *names_in(self.attrs)]

    @property
    def writes(self) -> list[str]:
        return [name for names in self.outputs.values() for name in names]

    def operator(self, block: Block, op: Op | None, *rest: Any) -> Operator:
        """A new operator of ``block`` with the place in the script that the file tells."""
        made = Operator(block, self.type, op, *rest)
        role = self.attrs.get("op_role")
        made.role = ROLES_BY_NUMBER.get(role, made.role) if isinstance(role, int) else made.role
        scope, device = self.hints.get("op_namescope"), self.hints.get("op_device")
        made.name_scope = scope.strip("/") if isinstance(scope, str) else ""
        made.device = device if isinstance(device, str) else ""
        return made


def _slots(node: Node) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in node.items():
        fields = item.entries()
        slot = fields["parameter"].name()
        if slot in found:
            raise item.refused("a slot that the operator does not have yet")
        found[slot] = [name for name in fields["arguments"].names() if name != "@EMPTY@"]
    return {slot: names for slot, names in found.items() if names}


class Misfit(Exception):
    """An op does not compute an operator; the text says why."""


def calls_of(form: OpForm, block: Block, wanted: Collection[str]) -> list[Operator]:
    """The calls of ops of the table that compute what ``wanted`` has of the operator's results.

    There are several where Paddle's operator gives what here are two ops.
    """
    reasons: list[str] = []
    found: list[Operator] = []
    results = {name for name in form.writes if name in wanted}
    for op in table.of_type(form.type):
        try:
            found.append(_Call(form, block, op).operator(results))
        except Misfit as misfit:
            reasons.append(str(misfit))
    if not found:
        raise Misfit(reasons[0] if reasons else "")
    if len(found) > 1:
        found.sort(key=lambda operator: not _is_as_declared(operator))  # stable
    made: list[Operator] = []
    rest = set(results)
    for operator in found:
        given = {*operator.output_arg_names, *operator.changed_in_place}
        if made and rest.isdisjoint(given):
            continue
        made.append(operator)
        rest -= given
    if rest:
        raise Misfit(f"nothing here computes its result {sorted(rest)[0]!r}")
    return made


def _is_as_declared(operator: Operator) -> bool:
    """Whether what an operator computes has the dtype and the number of dimensions of its
    variables.
    """
    declared, made = found_kinds(operator)
    return bool(made) and all(
        a.dtype is b.raw.dtype and a.first.ndim == b.raw.ndim
        for a, b in zip(made, declared, strict=True)
    )


def found_kinds(operator: Operator) -> tuple[list[Variable], list[Kind]]:
    """The results of a call, and the kinds that they have by what it takes; none if that cannot be
    told.
    """
    find = operator.block.find_var_recursive

    def variable(leaf: Any) -> Any:
        return find(leaf.name) if isinstance(leaf, (Ref, Number)) else leaf

    assert operator.op is not None
    args, kwargs = mapped(operator.args, variable), mapped(operator.kwargs, variable)
    try:
        made = list(leaves(infer(operator.op, args, kwargs)))
    except (ArgosyError, RuntimeError, ValueError, TypeError):
        return [], []
    declared = [variable(leaf) for leaf in leaves(operator.out)]
    if len(made) != len(declared):
        return [], []
    pairs = [
        (b, a)
        for a, b in zip(made, declared, strict=True)
        if isinstance(a, Kind) and isinstance(b, Variable)
    ]
    return [b for b, _ in pairs], [a for _, a in pairs]


class _Call:
    """An operator of a file taken for a call of ``op``."""

    def __init__(self, form: OpForm, block: Block, op: Op) -> None:
        self._form = form
        self._block = block
        self._op = op
        self._words: Spelling = op.spelling(form.type)
        self._seen = {"op_role", *self._words.constants, *self._words.of_slots}
        self._used: set[str] = set()
        self._proto = proto.find(form.type)

    def operator(self, wanted: Collection[str]) -> Operator:
        if not self._words.fits(self._form.attrs):
            raise Misfit("its attributes are those of another op")
        args, kwargs = self._arguments()
        self._refuse_rest()
        made = self._form.operator(self._block, self._op, args, kwargs, self._results(wanted))
        problem = problem_of(made)
        if problem:
            raise Misfit(problem)
        return made

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        named: dict[str, Any] = {}
        has_gap = False
        for name, parameter in self._op.signature.parameters.items():
            value = self._argument(name, parameter)
            if value is inspect.Parameter.empty:
                has_gap = True
            elif has_gap:
                named[name] = value
            else:
                args.append(value)
        return tuple(args), named

    def _argument(self, name: str, parameter: inspect.Parameter) -> Any:
        word = self._words.words[name]
        annotation = str(parameter.annotation)
        given = self._variables(word, annotation)
        if given is not None:
            return given
        if word.fixed:
            return word.fixed[0]
        if annotation.startswith("torch.device"):
            return torch.device("cpu")  # any: a run puts its own in place
        if word.is_in(self._form.attrs):
            value = self._read(word, self._form.attrs)
            is_told = value is not None or annotation != "torch.dtype"
            return value if is_told else self._declared_dtype()
        if annotation == "torch.dtype":
            return self._declared_dtype()
        default = None if self._proto is None else self._proto.attrs.get(word.attr)
        if default is not None and default.has_default:
            return self._read(word, {word.attr: default.default, **self._form.attrs})
        if parameter.default is not inspect.Parameter.empty:
            return inspect.Parameter.empty
        if annotation.endswith(("| None", "Any")):
            return None
        raise Misfit(f"has no {word.attr or word.slot or name!r}")

    def _declared_dtype(self) -> torch.dtype:
        """The dtype of the result, where no attribute tells it."""
        names = self._form.outputs.get(self._words.outputs[0], [])
        variable = self._block.find_var_recursive(names[0]) if names else None
        if variable is None:
            raise Misfit("has no result of a known dtype")
        return variable.raw.dtype

    def _variables(self, word: Word, annotation: str) -> Any:
        inputs = self._form.inputs
        if word.whole in inputs:
            self._used.add(word.whole)
            self._seen.add(word.attr)
            return Ref(self._only(word.whole))
        if word.slot not in inputs:
            return None
        self._used.add(word.slot)
        self._seen.add(word.attr)
        is_list = annotation in _TENSOR_LISTS or word.whole
        if is_list:
            return [Ref(name) for name in inputs[word.slot]]
        return Ref(self._only(word.slot))

    def _only(self, slot: str) -> str:
        names = self._form.inputs[slot]
        if len(names) != 1:
            raise Misfit(f"must have one variable as {slot}, but has {names}")
        return names[0]

    def _read(self, word: Word, attrs: dict[str, Any]) -> Any:
        seen = _Seen(attrs)
        try:
            value = word.read(seen)
        except (KeyError, ValueError, TypeError, AttributeError, ArgosyError) as error:
            raise Misfit(f"has {word.attr}, which cannot be read: {error}") from error
        self._seen |= {word.attr, *seen.names}
        return value

    def _refuse_rest(self) -> None:
        """What the op has no word for changes nothing, or this is not the op."""
        form = self._form
        for name, value in form.attrs.items():
            if name not in self._seen and not is_neutral(form.type, name, value):
                raise Misfit(f"has {name}={value!r:.60}, which is not supported")
        unknown = [slot for slot in form.inputs if slot not in self._used]
        if unknown:
            raise Misfit(f"has the input {unknown[0]}, which is not supported")

    def _results(self, wanted: Collection[str]) -> Any:
        form, words = self._form, self._words
        for parameter, slot in words.changed.items():
            given = form.inputs.get(words.slot(parameter), [])
            if form.outputs.get(slot, given) != given:
                raise Misfit(f"must have as {slot} what it has as {words.slot(parameter)}")
        if words.is_list:
            return [Ref(name) for name in form.outputs.get(words.outputs[0], [])]
        if words.rest:
            names = [n for slot in words.outputs[:2] for n in form.outputs.get(slot, [])]
            return tuple(Ref(name) for name in names)
        count = _num_results(self._op)
        slots = words.outputs[: count or 1]
        refs = [self._result(slot) for slot in slots]
        found = {ref.name for ref in refs if ref is not None}
        changed = {n for p in words.changed for n in form.inputs.get(words.slot(p), [])}
        if wanted and found.isdisjoint(wanted) and changed.isdisjoint(wanted):
            raise Misfit(f"its results {sorted(wanted)} are those of another op")
        return tuple(refs) if count else refs[0]

    def _result(self, slot: str) -> Ref | None:
        names = self._form.outputs.get(slot, [])
        if len(names) > 1:
            raise Misfit(f"must have one variable as {slot}, but has {names}")
        return Ref(names[0]) if names else None


class _Seen(dict[str, Any]):
    """Attributes, with the names that were asked for."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        super().__init__(attrs)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def is_neutral(type: str, name: str, value: Any) -> bool:
    """Whether an attribute has the value that Paddle gives it where nothing is said, or one with
    which attributes switch nothing on.
    """
    found = proto.find(type)
    default = None if found is None else found.attrs.get(name)
    if default is not None and default.has_default and is_equal(value, default.default):
        return True
    if name == "is_test" and (default is None or default.is_extra):
        return True  # 1.x notes it on operators that compute alike
    return any(value == item and value.__class__ is item.__class__ for item in _NEUTRAL)


def _num_results(op: Op) -> int:
    """How many results an op returns as a tuple; 0 for one tensor."""
    annotation = str(op.signature.return_annotation)
    return annotation.count("Tensor") if annotation.startswith("tuple[") else 0
