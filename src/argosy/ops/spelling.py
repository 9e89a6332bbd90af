"""Paddle's words for a call of an op: the type of its operator, slots, attributes.

An op says them where it is defined, one text per type, in the order of its own parameters:

    types=("conv2d(Input, Filter, -, strides, paddings:padding, dilations, groups) -> Output",)

A word with a capital is a slot, any other an attribute; ``/x`` is a slot and ``@Axis`` an attribute
whatever they begin with; ``shape/ShapeTensorList`` is an attribute
or, where variables stand in it, that slot; a third word is the slot of one variable with all of it,
as in ``shape/ShapeTensorList/ShapeTensor``; ``-`` has no word, ``-'none'`` none and always this
value. ``name:kind`` says how values differ
(``KINDS``). ``name=value`` behind the parameters is an attribute that the type always has with this
value here; of several ops of one type it tells which is meant. ``name~value`` is one that computes
nothing here: written so, and read whatever it is. ``name=dtype(X)`` is the dtype of what that slot
takes, ``name=shape(X)`` its shape. Behind the arrow are the slots of the results, ``Out*`` for all
of them or all but the first, ``MeanOut=mean`` for one that is a parameter changed in place, and
then those that only Paddle's own gradients read. What is left out is ``x`` -> ``X`` for slots, the
parameter's own name for attributes, ``Out``.

The same words serve both ways: what scripts read from an operator, and what an operator that is
given in Paddle's words computes.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import InternalError

_COMMA = re.compile(r",(?![^\[]*\])")  # but none inside of a list
_OF_SLOT = re.compile(r"(dtype|shape)\((\w+)\)")
_VALUE = re.compile(r"\s*(\w+)\s*([=~])\s*(.+)", re.DOTALL)
_TEXT = re.compile(r"(\w+)(?:\((.*)\))?(?:\s*->\s*([\w*=, ]+))?", re.DOTALL)


class Word(NamedTuple):
    """A parameter: as an attribute, as a slot, the kind of its values, and the slot of a variable
    that is the whole of it. Empty: there is none.
    """

    attr: str
    slot: str
    kind: str
    whole: str = ""
    fixed: tuple[Any, ...] = ()  # the value that a parameter without a word has, if told

    def is_in(self, attrs: Mapping[str, Any]) -> bool:
        """Whether attributes have a value for it."""
        return bool(self.attr) and (self.attr in attrs or self.kind in ("values", "sizes"))

    def read(self, attrs: Mapping[str, Any]) -> Any:
        """Its value."""
        return KINDS[self.kind].read(self.attr, attrs)


class Spelling(NamedTuple):
    """A parsed text. ``constants`` are the attributes with one value, ``fillers`` those of them
    that compute nothing.
    """

    type: str
    words: dict[str, Word]
    constants: dict[str, Any]
    of_slots: dict[str, tuple[str, str]]  # attributes that tell the "dtype" or "shape" of a slot
    outputs: tuple[str, ...]
    changed: dict[str, str]  # output slots by the parameters that are changed in place
    is_list: bool
    fillers: frozenset[str] = frozenset()
    rest: str = ""  # the slot, behind that of the first result, which has all others

    def slot(self, parameter: str, is_whole: bool = False) -> str:
        """The input slot that takes the variables of a parameter; where ``is_whole``, the one
        variable that all of it is.
        """
        word = self.words.get(parameter)
        return parameter if word is None else word.whole if is_whole and word.whole else word.slot

    def results(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The variables that a call makes, by output slot."""
        if self.is_list:
            return {self.outputs[0]: list(names)}
        if self.rest:
            return {self.outputs[0]: list(names[:1]), self.rest: list(names[1:])}
        slots = [*self.outputs, *(f"Out{i}" for i in range(len(self.outputs), len(names)))]
        return {slot: [name] for slot, name in zip(slots, names, strict=False)}

    def written(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes of a call with the plain arguments ``given``."""
        attrs = dict(self.constants)
        for parameter, value in given.items():
            word = self.words.get(parameter)
            if word is None:
                attrs[parameter] = value
            elif word.attr:
                attrs.update(KINDS[word.kind].write(word.attr, value))
        return attrs

    def read(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """The plain arguments of a call with the attributes ``attrs``, as far as they are given."""
        return {
            parameter: word.read(attrs)
            for parameter, word in self.words.items()
            if word.is_in(attrs)
        }

    def fits(self, attrs: Mapping[str, Any]) -> bool:
        """Whether attributes are those that this text stands for."""
        return all(
            is_equal(attrs.get(name, value), value)
            for name, value in self.constants.items()
            if name not in self.fillers
        )


def is_equal(value: Any, other: Any) -> bool:
    """Whether two attributes are equal, of which one may have been a float of 32 bits."""
    if isinstance(value, float) and isinstance(other, float):
        return value == other or math.isclose(value, other, rel_tol=1e-6)
    return bool(value == other)


def type_in(text: str) -> str:
    """The type that a text is for, without reading the rest of it."""
    return text.partition("(")[0].partition(" ->")[0]


@functools.cache
def parsed(text: str, params: tuple[str, ...]) -> Spelling:
    """What a text says of an op with these parameters."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InternalError(f"not a type with its words: {text!r}")
    kind, inside, behind = match.groups()
    parts = [part.strip() for part in _COMMA.split(inside or "") if part.strip()]
    words = [part for part in parts if not _VALUE.fullmatch(part)]
    if len(words) > len(params):
        raise InternalError(f"{text!r} has more words than {params}")
    fixed = [match.groups() for part in parts if (match := _VALUE.fullmatch(part))]
    extra = [(name, value) for name, _, value in fixed]
    own = {p: _word(w, p) for p, w in zip(params, words, strict=False)}
    rest = {p: Word(p, p[:1].upper() + p[1:], "") for p in params[len(words) :]}
    found = [name.strip() for name in (behind or "Out").split(",")]
    changed = dict(name.split("=")[::-1] for name in found if "=" in name)
    outputs = [name for name in found if "=" not in name]
    return Spelling(
        kind,
        own | rest,
        {name: ast.literal_eval(value) for name, value in extra if not _OF_SLOT.match(value)},
        {name: (m[1], m[2]) for name, value in extra if (m := _OF_SLOT.match(value))},
        tuple(name.rstrip("*") for name in outputs),
        changed,
        found[0].endswith("*"),
        frozenset(name for name, sign, _ in fixed if sign == "~"),
        next((name.rstrip("*") for name in outputs[1:2] if name.endswith("*")), ""),
    )


def _word(text: str, parameter: str) -> Word:
    if text.startswith("-"):
        return Word("", "", "", "", (ast.literal_eval(text[1:]),) if text[1:] else ())
    name, _, kind = text.partition(":")
    if kind not in KINDS:
        raise InternalError(f"{text!r}: there are the kinds {sorted(KINDS)}")
    attr, slot, whole = (*name.removeprefix("@").split("/"), "", "")[:3]
    if attr[:1].isupper() and not name.startswith("@"):
        return Word(slot, attr, kind)
    return Word(attr, slot or parameter[:1].upper() + parameter[1:], kind, whole)


# -- values that differ ----------------------------------------------------------------------------


class Kind(NamedTuple):
    """How the value of a parameter becomes attributes, and is read from them."""

    write: Callable[[str, Any], dict[str, Any]]
    read: Callable[[str, Mapping[str, Any]], Any]


def _each(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Kind:
    """A kind of one attribute."""
    return Kind(lambda name, value: {name: write(value)}, lambda name, attrs: read(attrs[name]))


def _plain(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _reduced(name: str, value: Any) -> dict[str, Any]:
    axes = _listed(value)
    return {name: axes or [0], "reduce_all": not axes}


def _axes(name: str, attrs: Mapping[str, Any]) -> list[int] | None:
    return None if attrs.get("reduce_all") or not _listed(attrs[name]) else _listed(attrs[name])


def _padded(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {name: [0, 0], "padding_algorithm": value}
    return {name: list(value), "padding_algorithm": "EXPLICIT"}


def _padding(name: str, attrs: Mapping[str, Any]) -> Any:
    algorithm = attrs.get("padding_algorithm", "EXPLICIT")
    return list(attrs[name]) if algorithm == "EXPLICIT" else algorithm


def _divided(name: str, value: Any) -> dict[str, Any]:
    """A number of equal sections, or the extent of each."""
    if isinstance(value, int):
        return {name: value, "sections": []}
    return {name: 0, "sections": list(value)}


def _sections(name: str, attrs: Mapping[str, Any]) -> Any:
    return list(attrs.get("sections") or ()) or attrs[name]


# The attributes of Paddle's that hold values of an array, by their dtype; others are cast.
_ATTR_OF_VALUES = {"bool": "bool_values", "int32": "int32_values", "int64": "int64_values"}


def _held(name: str, value: Any) -> dict[str, Any]:
    held = _ATTR_OF_VALUES.get(value.dtype.name, "fp32_values")
    flat = value.reshape(-1)
    values = (flat.astype(int) if held == "bool_values" else flat).tolist()
    empty: dict[str, list[Any]] = {
        other: [] for other in (*_ATTR_OF_VALUES.values(), "fp32_values")
    }
    return {"shape": list(value.shape), **empty, held: values}


def _array(name: str, attrs: Mapping[str, Any]) -> np.ndarray:
    names = (*_ATTR_OF_VALUES.values(), "fp32_values", "values")
    held = next((attrs[n] for n in names if attrs.get(n)), ())
    return np.asarray(held).reshape(attrs["shape"])


_SIZES = ("out_d", "out_h", "out_w")


def _extents(name: str, value: Any) -> dict[str, Any]:
    given = [-1, -1, -1, *_listed(value)][-3:]
    return dict(zip(_SIZES, given, strict=True))


def _sizes(name: str, attrs: Mapping[str, Any]) -> list[int] | None:
    found = [attrs.get(key, -1) for key in _SIZES]
    return [n for n in found if n > 0] or None


def _along(name: str, value: Any) -> dict[str, Any]:
    axes = _listed(value)
    return {name: axes[0] if axes else -1, "asvector": not axes}


def _axis(name: str, attrs: Mapping[str, Any]) -> list[int] | None:
    return None if attrs.get("asvector") else [attrs[name]]


def _scanned(name: str, value: Any) -> dict[str, Any]:
    return {name: -1 if value is None else value, "flatten": value is None}


def _scan_axis(name: str, attrs: Mapping[str, Any]) -> int | None:
    return None if attrs.get("flatten") else attrs[name]


def _first(value: Any) -> Any:
    items = _listed(value)
    return items[0] if items else None


def _spelled(name: str, value: Any) -> dict[str, Any]:
    """A number, and its text: the number alone has 32 bits in files."""
    return {
        name: value.real if isinstance(value, complex) else float(value),
        "str_value": str(value),
    }


def _number(name: str, attrs: Mapping[str, Any]) -> float:
    text = attrs.get("str_value") or ""
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text or attrs[name])
    except ValueError:
        return complex(text)  # type: ignore[return-value]


def _layout(first: str, last: str) -> Kind:
    """``channel_last`` as the name of a layout; "AnyLayout" has channels first."""
    return _each(lambda is_last: last if is_last else first, lambda value: value == last)


def _choice(no: Any, yes: Any) -> Kind:
    """A boolean as one of two values."""
    return _each(lambda value: yes if value else no, lambda value: value == yes)


def _dtype(value: Any) -> torch.dtype:
    return dtypes.TORCH_BY_CODE[value] if isinstance(value, int) else dtypes.to_torch(value)


KINDS: dict[str, Kind] = {
    "": Kind(_plain, lambda name, attrs: attrs[name]),
    "list": _each(_listed, _listed),
    "some": _each(_listed, lambda value: _listed(value) or None),
    "any": _each(lambda value: _listed(value) if any(value) else [], _listed),
    "axes": Kind(_reduced, _axes),
    "sections": Kind(_divided, _sections),
    "values": Kind(_held, _array),
    "sizes": Kind(_extents, _sizes),
    "factor": _each(
        lambda value: value[0] if value else 0.0, lambda value: [value] if value > 0 else None
    ),
    "vector": Kind(_along, _axis),
    "number": Kind(_spelled, _number),
    "upper": _each(str.upper, str.lower),
    "padding": Kind(_padded, _padding),
    "dtype": _each(
        lambda value: -1 if value is None else dtypes.Code(value),
        lambda value: None if value in (-1, None) else _dtype(value),
    ),
    "flat": Kind(_scanned, _scan_axis),
    "single": _each(_listed, lambda value: _first(value) or 0),
    "maybe": _each(_listed, _first),
    "count": Kind(_plain, lambda name, attrs: attrs[name]),  # of int32 where it is a variable
    "text": _each(str, float),
    "not": _each(lambda value: not value, lambda value: not value),
    "nine": _each(lambda value: 9 if value is None else value, lambda v: None if v == 9 else v),
    "NCHW": _layout("NCHW", "NHWC"),
    "NCDHW": _layout("NCDHW", "NDHWC"),
    "gelu": _each(lambda value: value == "tanh", lambda value: "tanh" if value else "none"),
    "dropout": _choice("downgrade_in_infer", "upscale_in_train"),
}
