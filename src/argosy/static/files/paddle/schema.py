"""The messages of Paddle's program files, as data, and values of them as plain dicts.

The numbers and kinds are those of Paddle's ``framework.proto``, of 1.8 and of every version after
it: numbers were added, none was given another meaning. Fields that a run does not need
(``forward_block_idx``) are not listed; they are passed over, as every reader of protobuf does with
those that it does not know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from argosy.foundation.errors import CheckpointError
from argosy.static.files.paddle import wire
from argosy.static.files.paddle.wire import Malformed

_DEEPEST = 16  # messages inside of one another; a program has 7


class Field(NamedTuple):
    """A field: its kind is a scalar of ``_SCALARS`` or a message."""

    name: str
    kind: str
    is_list: bool = False
    is_required: bool = False


def _message(text: str) -> dict[int, Field]:
    """The fields of a message: ``number name kind``, with ``*`` for a list and ``!`` for one that
    must be there.
    """
    found = {}
    for row in text.strip().splitlines():
        number, name, kind = row.split()
        found[int(number)] = Field(name, kind.rstrip("*!"), kind[-1] == "*", kind[-1] == "!")
    return found


MESSAGES: dict[str, dict[int, Field]] = {
    "ProgramDesc": _message("""
        1 blocks BlockDesc*
        4 version Version
        5 op_version_map OpVersionMap
    """),
    "Version": _message("1 version int64"),
    "OpVersionMap": _message("1 pair OpVersionPair*"),
    "OpVersionPair": _message("""
        1 op_name string!
        2 op_version OpVersion!
    """),
    "OpVersion": _message("1 version int32!"),
    "BlockDesc": _message("""
        1 idx int32!
        2 parent_idx int32!
        3 vars VarDesc*
        4 ops OpDesc*
    """),
    "OpDesc": _message("""
        1 inputs Slot*
        2 outputs Slot*
        3 type string!
        4 attrs Attr*
        5 is_target bool
    """),
    "Slot": _message("""
        1 parameter string!
        2 arguments string*
    """),
    "Attr": _message("""
        1 name string!
        2 type int32!
        3 i int32
        4 f float
        5 s string
        6 ints int32*
        7 floats float*
        8 strings string*
        10 b bool
        11 bools bool*
        12 block_idx int32
        13 l int64
        14 blocks_idx int32*
        15 longs int64*
        16 float64s double*
        17 var_name string
        18 vars_name string*
        19 float64 double
        20 scalar Scalar
        21 scalars Scalar*
    """),
    "Scalar": _message("""
        1 type int32!
        2 b bool
        3 i int64
        4 r double
        5 c Complex
    """),
    "Complex": _message("""
        1 r double!
        2 i double!
    """),
    "VarDesc": _message("""
        1 name string!
        2 type VarType!
        3 persistable bool
        4 need_check_feed bool
        5 is_parameter bool
        6 stop_gradient bool
    """),
    "VarType": _message("""
        1 type int32!
        2 selected_rows TensorDesc
        3 lod_tensor LoDTensorDesc
        4 tensor_array LoDTensorDesc
    """),
    "TensorDesc": _message("""
        1 data_type int32!
        2 dims int64*
    """),
    "LoDTensorDesc": _message("""
        1 tensor TensorDesc!
        2 lod_level int32
    """),
}


def decoded(data: bytes, source: str) -> dict[str, Any]:
    """The ProgramDesc in ``data``, as dicts; ``source`` names it in messages."""
    try:
        return _read("ProgramDesc", memoryview(data), 0)
    except Malformed as error:
        raise CheckpointError(
            f"{source} is damaged or cut short: it is no program of Paddle's ({error})"
        ) from error


def _read(message: str, data: memoryview, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise Malformed(f"more than {_DEEPEST} messages inside of one another")
    known = MESSAGES[message]
    out: dict[str, Any] = {f.name: [] for f in known.values() if f.is_list}
    for number, kind, value in wire.fields(data):
        found = known.get(number)
        if found is None:
            continue
        values = _values(message, found, kind, value, depth)
        if found.is_list:
            out[found.name] += values
        elif values:
            out[found.name] = values[-1]
    missing = [f.name for f in known.values() if f.is_required and f.name not in out]
    if missing:
        raise Malformed(f"a {message} has no {missing[0]}")
    return out


def _values(message: str, found: Field, kind: int, value: Any, depth: int) -> list[Any]:
    """What one field says: several numbers where it is packed."""
    scalar = _SCALARS.get(found.kind)
    if scalar is None:
        if kind != wire.BYTES:
            raise Malformed(f"{message}.{found.name} is no message")
        return [_read(found.kind, value, depth + 1)]
    if kind == scalar.wire:
        return [scalar.read(value)]
    if kind != wire.BYTES or not found.is_list or scalar.wire == wire.BYTES:
        raise Malformed(f"{message}.{found.name} is no {found.kind}")
    if scalar.wire == wire.VARINT:
        return [scalar.read(item) for item in wire.varints(value)]
    if len(value) % scalar.size:
        raise Malformed(f"{message}.{found.name} ends inside of a number")
    parts = range(0, len(value), scalar.size)
    return [scalar.read(value[i : i + scalar.size]) for i in parts]


def encoded(message: str, value: Mapping[str, Any]) -> bytes:
    """A message as bytes: its fields in the order of their numbers, those without a value left
    out.
    """
    out = []
    for number, found in MESSAGES[message].items():
        if found.name not in value:
            continue
        given = value[found.name]
        for item in given if found.is_list else [given]:
            scalar = _SCALARS.get(found.kind)
            if scalar is None:
                out.append(wire.field(number, wire.BYTES, encoded(found.kind, item)))
            else:
                out.append(wire.field(number, scalar.wire, scalar.write(item)))
    return b"".join(out)


class _Scalar(NamedTuple):
    wire: int
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    size: int = 0


def _text(value: memoryview) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("text that is no UTF-8") from error


def _number(letter: str, kind: int) -> _Scalar:
    form = struct.Struct(f"<{letter}")
    return _Scalar(kind, lambda v: form.unpack(v)[0], form.pack, form.size)


_SCALARS: dict[str, _Scalar] = {
    "bool": _Scalar(wire.VARINT, bool, int),
    "int32": _Scalar(wire.VARINT, lambda v: wire.signed(v, 32), int),
    "int64": _Scalar(wire.VARINT, lambda v: wire.signed(v, 64), int),
    "float": _number("f", wire.FIXED32),
    "double": _number("d", wire.FIXED64),
    "string": _Scalar(wire.BYTES, _text, str.encode),
}
