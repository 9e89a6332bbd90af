"""A call of the op table as an operator of Paddle's files.

An operator knows Paddle's words for itself (``Operator.input_slots`` and so on). Here they are held
against what Paddle says of the type: a word that Paddle has not, or an argument without a word that
changes the result, makes the operator one that cannot be written.
"""

from __future__ import annotations

import inspect
import struct
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported
from argosy.ops.array.creation import arange
from argosy.ops.spelling import Spelling, Word
from argosy.static.files.paddle import attribute, proto
from argosy.static.files.paddle.proto import OpProto
from argosy.static.files.paddle.space import Space
from argosy.static.ir.operator import ONLY_IF, Number, Operator, Ref, names_in

Desc = dict[str, Any]


class NoWords(NotSupported):
    """An operator has no form in Paddle's files."""


def op_desc(
    type: str,
    inputs: dict[str, list[str]],
    outputs: dict[str, list[str]],
    attrs: dict[str, Any],
    kinds: dict[str, str] | None = None,
    about: Operator | None = None,
) -> Desc:
    """The OpDesc of an operator; slots and attributes in the order of their names, as Paddle has
    them.
    """
    general: dict[str, Any] = {
        "op_role": 0 if about is None else about.attr("op_role"),
        "op_namescope": "/" if about is None else about.attr("op_namescope"),
        "op_device": "" if about is None else about.device,
        "op_role_var": [],
    }
    kinds = {"op_role_var": "STRINGS", **(kinds or {})}
    return {
        "type": type,
        "inputs": _slots(inputs),
        "outputs": _slots(outputs),
        "attrs": [
            attribute.described(name, value, kinds.get(name, ""))
            for name, value in sorted({**general, **attrs}.items())
        ],
    }


def _slots(slots: dict[str, list[str]]) -> list[Desc]:
    return [{"parameter": name, "arguments": slots[name]} for name in sorted(slots)]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def constant(name: str, value: float, dtype: torch.dtype, shape: list[int]) -> Desc:
    """The operator that makes a variable of one number."""
    attrs = {
        "shape": shape,
        "dtype": int(dtypes.CODE_BY_TORCH[dtype]),
        "value": float(value),
        "str_value": str(value),
        "force_cpu": True,
        "place_type": -1,
    }
    return op_desc("fill_constant", {}, {"Out": [name]}, attrs, {"shape": "LONGS"})


def written(operator: Operator, space: Space) -> list[Desc]:
    """The operators of Paddle's that compute what ``operator`` does."""
    found = proto.find(operator.type)
    if found is None or not found.is_current:
        raise NoWords("Paddle has no operator of this type")
    if ONLY_IF in operator.kwargs:
        raise NoWords("it runs under a condition")
    try:
        return _Written(operator, found, space).run()
    except NoWords:
        raise
    except (TypeError, ValueError, struct.error) as error:
        raise NoWords(f"it has an attribute of another kind than Paddle's: {error}") from error


class _Written:
    def __init__(self, operator: Operator, found: OpProto, space: Space) -> None:
        self._operator = operator
        self._proto = found
        self._space = space
        self._before: list[Desc] = []
        spelling = operator.spelling
        assert spelling is not None  # a call of the table
        self._words: Spelling = spelling
        self._variable_attrs = self._found_variable_attrs()

    def run(self) -> list[Desc]:
        self._refuse_lost()
        operator = self._operator
        inputs, mixed = self._inputs()
        attrs = {**self._attrs(), **mixed, **self._variable_attrs}
        self._refuse_changed(attrs)
        kinds = {name: self._proto.attrs[name].kind for name in attrs}
        for name, value in self._variable_attrs.items():
            kinds[name] = "VARS" if isinstance(value, list) else "VAR"
        desc = op_desc(operator.type, inputs, self._outputs(), attrs, kinds, operator)
        return [*self._before, desc]

    def _found_variable_attrs(self) -> dict[str, Any]:
        """The names of variables that stand in the place of an attribute's numbers."""
        found: dict[str, Any] = {}
        for name, value in self._operator.named_args.items():
            word, names = self._words.words.get(name), names_in(value)
            told = None if word is None else self._proto.attrs.get(word.attr)
            if word is None or told is None or not names or not told.takes_variables:
                continue
            if {word.slot, word.whole}.isdisjoint(self._proto.inputs):
                is_list = isinstance(value, (list, tuple))
                if is_list and len(names) != len(value):
                    raise NoWords(f"Paddle's operator takes no {name} of numbers and variables")
                found[word.attr] = names if is_list else names[0]
        return found

    def _variable_words(self) -> list[Word]:
        return [w for w in self._words.words.values() if w.attr in self._variable_attrs]

    def _refuse_lost(self) -> None:
        """No argument may be left out that changes the result."""
        operator = self._operator
        assert operator.op is not None
        parameters = operator.op.signature.parameters
        for name, value in operator.named_args.items():
            word = self._words.words.get(name)
            if word is None or value is None or isinstance(value, (torch.device, torch.dtype)):
                if isinstance(value, torch.dtype) and word is not None and not word.attr:
                    self._require_declared(value)
                continue
            names = names_in(value)
            if names:
                if word.attr in self._variable_attrs:
                    continue
                if not word.slot and not self._space.offsets.issuperset(names):
                    raise NoWords(f"Paddle's operator takes no {name!r}")
                continue
            default = parameters[name].default if name in parameters else inspect.Parameter.empty
            if word.slot in self._proto.inputs and is_number(value):
                continue  # becomes a variable
            if word.fixed:
                default = word.fixed[0]
            if not word.attr and value != default and value not in (False, 0, [], ()):
                raise NoWords(f"Paddle's operator takes no {name}={value!r:.40}")

    def _refuse_changed(self, attrs: dict[str, Any]) -> None:
        """What is written must be read as the argument that was given: an attribute that is left
        out has the value that Paddle gives it, which need not be the one that None means here.
        """
        for name, value in self._operator.named_args.items():
            word = self._words.words.get(name)
            if value is not None or word is None or not word.attr or word.kind == "dtype":
                continue
            if word.attr in attrs and word.read(attrs) not in (None, []):
                raise NoWords(f"Paddle's operator takes {word.attr}={attrs[word.attr]!r} for None")

    def _require_declared(self, dtype: torch.dtype) -> None:
        """A dtype without a word is what the operator makes of its inputs."""
        find = self._operator.block.find_var_recursive
        given = [find(name) for name in self._operator.input_arg_names]
        if given and not any(v is not None and v.raw.dtype is dtype for v in given):
            raise NoWords(f"Paddle's operator takes no dtype {dtypes.name_of(dtype)!r}")

    # -- slots
    # ----------------------------------------------------------------------------------------------

    def _inputs(self) -> tuple[dict[str, list[str]], dict[str, Any]]:
        """What the slots take; and the attributes of lists in which variables stand, with -1 in
        their places.
        """
        slots = {
            slot: [name for name in names if name not in self._space.offsets]
            for slot, names in self._operator.input_slots.items()
            if slot not in {w.slot for w in self._variable_words()}
        }
        attrs: dict[str, Any] = {}
        infer_flag = 1  # -1: the shape follows from variables
        needed = [slot for slot in self._proto.inputs if slot not in self._proto.optional]
        for name, value in self._operator.named_args.items():
            word = self._words.words.get(name)
            if word is None:
                continue
            if is_number(value) and word.slot in needed:
                slots[word.slot] = [self._number(value, word.kind)]
            if not names_in(value) or word.attr in self._variable_attrs:
                continue
            self._refuse_scaled(value)
            if word.attr and isinstance(value, (list, tuple)):
                slots[word.slot] = self._entries(value)
                attrs[word.attr] = [-1 if names_in(item) else int(item) for item in value]
            if word.attr in ("starts", "ends"):
                infer_flag = -1
            if word.kind == "count":
                slots[word.slot] = [self._as_count(name) for name in slots[word.slot]]
        if "infer_flags" in self._proto.attrs:
            attrs["infer_flags"] = [infer_flag] * len(self._operator.slot_attrs.get("axes", [0]))
        unknown = [slot for slot in slots if slots[slot] and slot not in self._proto.inputs]
        if unknown:
            raise NoWords(f"Paddle's operator has no input {unknown[0]!r}")
        missing = [slot for slot in needed if not slots.get(slot)]
        if missing:
            raise NoWords(f"Paddle's operator needs its input {missing[0]!r}")
        return {slot: names for slot, names in slots.items() if names}, {
            name: value for name, value in attrs.items() if name in self._proto.attrs
        }

    def _refuse_scaled(self, value: Any) -> None:
        items = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(item, Number) and item.scale != 1.0 for item in items):
            raise NoWords("it takes the multiple of a variable as a number")

    def _number(self, value: float, kind: str) -> str:
        """A variable for a number where Paddle's operator takes variables only."""
        find = self._operator.block.find_var_recursive
        dtype = self._operator.attrs.get("dtype")
        if not isinstance(dtype, torch.dtype):
            beside = [find(name) for name in self._operator.input_arg_names]
            dtype = next((v.raw.dtype for v in beside if v is not None), torch.float32)
        if kind == "count":
            dtype = torch.int32
        if not dtype.is_floating_point and value != int(value):
            raise NoWords(f"Paddle's operator takes no {value!r} beside {dtypes.name_of(dtype)}")
        shape = [1] if self._operator.op is arange else []
        name = self._space.new(self._operator.block, "fill_constant", dtype, shape)
        self._before.append(constant(name, value, dtype, shape))
        return name

    def _as_count(self, name: str) -> str:
        """A variable where Paddle's operator reads 32 bits whatever it holds."""
        block = self._operator.block
        found = block.find_var_recursive(name)
        if found is None or found.raw.dtype is torch.int32:
            return name
        out = self._space.new(block, "cast", torch.int32, list(found.shape))
        codes = {
            "in_dtype": int(dtypes.CODE_BY_TORCH[found.raw.dtype]),
            "out_dtype": int(dtypes.CODE_BY_TORCH[torch.int32]),
        }
        self._before.append(op_desc("cast", {"X": [name]}, {"Out": [out]}, codes))
        return out

    def _entries(self, items: Any) -> list[str]:
        """A variable for each entry of a list in which variables stand: all of one dtype and
        shape, for Paddle joins them.
        """
        block = self._operator.block
        found = [v for name in names_in(items) if (v := block.find_var_recursive(name)) is not None]
        shape = [] if any(v.raw.ndim == 0 for v in found) else [1]
        dtype = found[0].raw.dtype
        entries = []
        for item in items:
            if isinstance(item, (Ref, Number)):
                entries.append(item.name)
                continue
            entries.append(self._space.new(block, "fill_constant", dtype, shape))
            self._before.append(constant(entries[-1], int(item), dtype, shape))
        return entries

    def _outputs(self) -> dict[str, list[str]]:
        operator, found = self._operator, self._proto
        held = self._space.offsets
        made = {
            s: [n for n in names if n not in held] for s, names in operator.output_slots.items()
        }
        slots = {slot: names for slot, names in made.items() if names}
        unknown = [slot for slot in slots if slot not in found.outputs]
        if unknown:
            raise NoWords(f"Paddle's operator has no output {unknown[0]!r}")
        for slot in found.outputs:
            if slot not in slots and (slot not in found.optional or slot in self._words.outputs):
                stem = f"{operator.type}.{slot}"
                slots[slot] = [self._space.new(operator.block, stem, torch.float32, [])]
        return slots

    # -- attributes
    # ----------------------------------------------------------------------------------------------

    def _attrs(self) -> dict[str, Any]:
        known, written = self._proto.attrs, {}
        defaults = self._defaults()
        for name, value in self._operator.slot_attrs.items():
            if name in known:
                if not known[name].is_extra:
                    written[name] = value
            elif name not in self._words.constants and not self._is_idle(name, value, defaults):
                if self._is_variable(name, value):
                    continue
                raise NoWords(f"Paddle's operator has no attribute {name}={value!r:.40}")
        for word in self._words.words.values():
            if word.kind == "axes" and written.get("reduce_all"):
                # Paddle 3 goes by these alone; 1.8 must have some
                written[word.attr] = list(range(self._rank()))
        for name, told in known.items():
            if name in written or told.is_extra:
                continue
            if not told.has_default:
                if told.kind.endswith("S"):
                    continue
                raise NoWords(f"Paddle's operator needs its attribute {name!r}")
            written[name] = told.default
        return written

    def _rank(self) -> int:
        """The number of dimensions of what it takes."""
        found = self._operator.block.find_var_recursive(self._operator.input_arg_names[0])
        return 0 if found is None else int(found.raw.ndim)

    def _is_variable(self, name: str, value: Any) -> bool:
        """Whether a number became a variable, for there is no attribute for it."""
        words = (w for w in self._words.words.values() if w.attr == name)
        return is_number(value) and any(w.slot in self._proto.inputs for w in words)

    def _defaults(self) -> dict[str, Any]:
        assert self._operator.op is not None
        parameters = self._operator.op.signature.parameters
        return {name: p.default for name, p in parameters.items() if p.default is not p.empty}

    def _is_idle(self, name: str, value: Any, defaults: dict[str, Any]) -> bool:
        if isinstance(value, (torch.device, type(None))):
            return True
        return (name in defaults and value == defaults[name]) or value in (False, [], ())
