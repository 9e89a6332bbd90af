"""The wire format of protobuf: a message is a row of fields, each a key and a value.

    key     varint: field number << 3 | wire type
    0       varint, 7 bits a byte, the lowest first; negative numbers as 64 bits
    1       8 bytes, little endian
    2       varint of a length, then that many bytes
    5       4 bytes, little endian

Reading checks that everything lies inside of the bytes given and copies nothing twice; what the
fields mean is for ``schema``.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_LONGEST_VARINT = 10
_WORD = 1 << 64


class Malformed(ValueError):
    """Bytes are no message."""


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """The fields of a message in their order: number, wire type, and the number or the bytes."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise Malformed(f"byte {position - 1} begins a field without a number")
        if kind == VARINT:
            value, position = _varint(data, position)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, position = _varint(data, position)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise Malformed(f"field {number} is of wire type {kind}, which there is not")
        end = position + size
        if end > len(data):
            raise Malformed(f"field {number} has {size} bytes, but {len(data) - position} are left")
        yield number, kind, data[position:end]
        position = end


def varints(data: memoryview) -> Iterator[int]:
    """The numbers in a packed field."""
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for i in range(_LONGEST_VARINT):
        if position + i >= len(data):
            raise Malformed("it ends inside of a number")
        byte = data[position + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value % _WORD, position + i + 1
    raise Malformed(f"a number is longer than {_LONGEST_VARINT} bytes")


def signed(value: int, bits: int) -> int:
    """A number that was written in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def varint(value: int) -> bytes:
    """A number as bytes."""
    value %= _WORD
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, kind: int, value: int | bytes) -> bytes:
    """One field as bytes."""
    key = varint(number << 3 | kind)
    if isinstance(value, int):
        return key + varint(value)
    return key + (varint(len(value)) + value if kind == BYTES else value)
