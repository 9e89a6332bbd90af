"""Attributes of operators in Paddle's files: the kinds, and which one a value has.

A value is plain data, or a ``Ref`` where the attribute is a variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from argosy.foundation.errors import NotSupported
from argosy.static.files.decode import Node
from argosy.static.ir.operator import Ref


class AttrKind(NamedTuple):
    """A kind: its number, and the field of an Attr that holds its value."""

    name: str
    number: int
    field: str
    is_list: bool = False


_KINDS = [
    AttrKind("INT", 0, "i"),
    AttrKind("FLOAT", 1, "f"),
    AttrKind("STRING", 2, "s"),
    AttrKind("INTS", 3, "ints", True),
    AttrKind("FLOATS", 4, "floats", True),
    AttrKind("STRINGS", 5, "strings", True),
    AttrKind("BOOLEAN", 6, "b"),
    AttrKind("BOOLEANS", 7, "bools", True),
    AttrKind("BLOCK", 8, "block_idx"),
    AttrKind("LONG", 9, "l"),
    AttrKind("BLOCKS", 10, "blocks_idx", True),
    AttrKind("LONGS", 11, "longs", True),
    AttrKind("FLOAT64S", 12, "float64s", True),
    AttrKind("VAR", 13, "var_name"),
    AttrKind("VARS", 14, "vars_name", True),
    AttrKind("FLOAT64", 15, "float64"),
    AttrKind("SCALAR", 16, "scalar"),
    AttrKind("SCALARS", 17, "scalars", True),
]
KINDS = {kind.name: kind for kind in _KINDS}
_BY_NUMBER = {kind.number: kind for kind in _KINDS}
_SCALAR_FIELDS = {1: "b", 2: "i", 3: "r", 4: "c"}

_INT32 = range(-(1 << 31), 1 << 31)


def value_of(node: Node) -> Any:
    """The value of the attribute that ``node`` describes."""
    fields = node.entries()
    number = fields["type"].integer()
    if number not in _BY_NUMBER:
        raise fields["type"].refused(f"the number of a kind, 0 to {max(_BY_NUMBER)}")
    kind = _BY_NUMBER[number]
    if kind.field not in fields:
        raise node.refused(f"an attribute with the field {kind.field!r} of {kind.name}")
    held = fields[kind.field]
    if kind.name in ("VAR", "VARS"):
        return [Ref(n) for n in held.names()] if kind.is_list else Ref(held.name())
    if kind.name == "SCALAR":
        return _scalar(held)
    if kind.name == "SCALARS":
        return [_scalar(item) for item in held.items()]
    return held.value


def _scalar(node: Node) -> Any:
    fields = node.entries()
    field = _SCALAR_FIELDS.get(fields["type"].integer(), "")
    if field not in fields:
        raise node.refused("a number of one of the kinds 1 to 4")
    value = fields[field].value
    return complex(value["r"], value["i"]) if field == "c" else value


def described(name: str, value: Any, kind: str = "") -> dict[str, Any]:
    """The Attr for a value; of the kind that the value has, if none is told."""
    found = KINDS[kind or kind_of(value)]
    if found.name == "SCALAR":
        return {"name": name, "type": found.number, "scalar": _as_scalar(value)}
    if found.name == "SCALARS":
        return {"name": name, "type": found.number, "scalars": [_as_scalar(v) for v in value]}
    if found.name in ("FLOAT", "FLOAT64"):
        value = float(value)
    if found.name in ("FLOATS", "FLOAT64S"):
        value = [float(v) for v in value]
    return {"name": name, "type": found.number, found.field: value}


def _as_scalar(value: Any) -> Mapping[str, Any]:
    if isinstance(value, bool):
        return {"type": 1, "b": value}
    if isinstance(value, int):
        return {"type": 2, "i": value}
    if isinstance(value, complex):
        return {"type": 4, "c": {"r": value.real, "i": value.imag}}
    return {"type": 3, "r": float(value)}


def kind_of(value: Any) -> str:
    """The kind of a plain value: numbers have 32 bits unless they need more."""
    if isinstance(value, (list, tuple)):
        kinds = {kind_of(item) for item in value}
        if kinds <= {"INT", "FLOAT", "LONG"} and len(kinds) > 1:
            return "FLOATS" if "FLOAT" in kinds else "LONGS"
        if len(kinds) <= 1 and kinds <= {"INT", "LONG", "FLOAT", "STRING", "BOOLEAN"}:
            return f"{(kinds or {'INT'}).pop()}S"
    elif isinstance(value, bool):
        return "BOOLEAN"
    elif isinstance(value, int):
        return "INT" if value in _INT32 else "LONG"
    elif isinstance(value, float):
        return "FLOAT"
    elif isinstance(value, str):
        return "STRING"
    raise NotSupported(f"an attribute of type {type(value).__name__} has no form in Paddle's files")
