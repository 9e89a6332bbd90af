"""Messages of protocol buffers (proto2): fields by a table, and their bytes.

A field is absent until it is set or, for a message, until something in it is; reading an absent one
gives its default. Bytes are written in the order of the field numbers; unknown fields are skipped
when read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from argosy.foundation.errors import UsageError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {"float": _FIXED32, "double": _FIXED64, "string": _BYTES, "message": _BYTES}
_DEFAULTS: dict[str, Any] = {"float": 0.0, "double": 0.0, "string": "", "bool": False}


class DecodeError(UsageError):
    """The bytes are not those of such a message."""


@dataclass(frozen=True)
class Field:
    """One field: its number, whether it repeats, and what it holds: ``int``, ``bool``, ``float``,
    ``double``, ``string`` or, with ``message``, a message; whether each message must have it.
    """

    number: int
    kind: str
    repeats: bool = False
    message: Callable[[], Message] | None = None
    is_required: bool = False

    @property
    def wire(self) -> int:
        return _WIRE.get(self.kind, _VARINT)


class Repeated(list[Any]):
    """The values of a repeated field."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def add(self) -> Message:
        """Append an empty message and return it."""
        if self._field.message is None:
            raise UsageError("add() is for repeated messages; append numbers and strings")
        self.append(self._field.message())
        made: Message = self[-1]
        return made


class Message:
    """A message; subclasses have ``FIELDS``."""

    FIELDS: ClassVar[dict[str, Field]] = {}

    def __init__(self, **values: Any) -> None:
        self._present: dict[str, Any] = {}
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        field = self.FIELDS[name]
        if name not in self._present:
            if field.repeats:
                self._present[name] = Repeated(field)
            elif field.message is not None:
                self._present[name] = field.message()
            else:
                return _DEFAULTS.get(field.kind, 0)
        return self._present[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if field.repeats:
            self._present[name] = Repeated(field)
            self._present[name].extend(value)
        else:
            self._present[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and list(self.ListFields()) == list(other.ListFields())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.ListFields())
        return f"{type(self).__name__}({', '.join(shown)})"

    def ListFields(self) -> Iterator[tuple[str, Any]]:
        """The fields that are there, with their values, in the order of their numbers."""
        for name in sorted(self._present, key=lambda name: self.FIELDS[name].number):
            if self.HasField(name):
                yield name, self._present[name]

    def HasField(self, name: str) -> bool:
        """Whether a field is there."""
        value = self._present.get(name)
        if isinstance(value, Message):
            return any(True for _ in value.ListFields())
        return value is not None and not (isinstance(value, Repeated) and not value)

    def IsInitialized(self) -> bool:
        """Whether all fields that must be there are, in messages inside too."""
        if any(f.is_required and name not in self._present for name, f in self.FIELDS.items()):
            return False
        values = (value for _, value in self.ListFields())
        inner = (
            item for value in values for item in (value if isinstance(value, list) else [value])
        )
        return all(item.IsInitialized() for item in inner if isinstance(item, Message))

    def Clear(self) -> None:
        self._present.clear()

    def CopyFrom(self, other: Message) -> None:
        """Become a copy of ``other``, of the same kind."""
        if type(other) is not type(self):
            raise UsageError(f"CopyFrom: a {type(self).__name__} was expected, but got {other!r}")
        self._present = type(self).FromString(other.SerializeToString())._present

    def SerializeToString(self) -> bytes:
        """The bytes of this message."""
        out = bytearray()
        for name, value in self.ListFields():
            field = self.FIELDS[name]
            for item in value if field.repeats else [value]:
                out += _varint(field.number << 3 | field.wire) + _encoded(field, item)
        return bytes(out)

    @classmethod
    def FromString(cls, data: bytes) -> Message:
        """The message that ``data`` holds."""
        message = cls()
        by_number = {field.number: name for name, field in cls.FIELDS.items()}
        position = 0
        while position < len(data):
            tag, position = _read_varint(data, position)
            raw, position = _read(data, position, tag & 7)
            name = by_number.get(tag >> 3)
            if name is not None:
                message._take(name, raw, tag & 7)
        return message

    def _take(self, name: str, raw: Any, wire: int) -> None:
        field = self.FIELDS[name]
        if wire != field.wire:
            raise DecodeError(f"field {name!r} of {type(self).__name__} has another type")
        value = _decoded(field, raw)
        if field.repeats:
            getattr(self, name).append(value)
        else:
            self._present[name] = value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as 64 bits
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encoded(field: Field, value: Any) -> bytes:
    if field.kind == "float":
        return struct.pack("<f", value)
    if field.kind == "double":
        return struct.pack("<d", value)
    if field.wire == _VARINT:
        return _varint(int(value))
    data = value.SerializeToString() if isinstance(value, Message) else str(value).encode()
    return _varint(len(data)) + data


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise DecodeError("the message ends inside a number")


def _read(data: bytes, position: int, wire: int) -> tuple[Any, int]:
    if wire == _VARINT:
        return _read_varint(data, position)
    if wire == _BYTES:
        size, position = _read_varint(data, position)
    elif wire in (_FIXED32, _FIXED64):
        size = 4 if wire == _FIXED32 else 8
    else:
        raise DecodeError(f"a field is of wire type {wire}")
    if position + size > len(data):
        raise DecodeError("the message ends inside a field")
    return data[position : position + size], position + size


def _decoded(field: Field, raw: Any) -> Any:
    if field.kind in ("float", "double"):
        return struct.unpack("<f" if field.kind == "float" else "<d", raw)[0]
    if field.message is not None:
        return type(field.message()).FromString(raw)
    if field.kind == "string":
        return raw.decode()
    signed = raw - (1 << 64) if raw >> 63 else raw
    return bool(signed) if field.kind == "bool" else signed
