"""Event files, as TensorBoard reads them, with scalars alone.

::

    record    length (8 bytes), its checksum (4), an Event, its checksum (4)
    Event     1: time in seconds (double)   2: step (varint)   3: version (text, the first record's)
              5: Summary = repeated 1: Value = 1: tag (text), 2: number (float)

Checksums are CRC-32C, masked as in TFRecord. The form is that of protobuf; it has not changed since
2015, and written here it needs no package.
"""

from __future__ import annotations

import math
import os
import platform
import struct
import time
from collections.abc import Mapping
from pathlib import Path

_VERSION = b"brain.Event:2"
_LENGTH = struct.Struct("<Q")
_CHECK = struct.Struct("<I")
_POLYNOMIAL = 0x82F63B78
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # forms of a field


class EventFile:
    """A new file in ``folder``, which is made, until ``close``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now_s = time.time()
        name = f"events.out.tfevents.{int(now_s)}.{platform.node()}.{os.getpid()}"
        self._file = open(folder / name, "ab")  # noqa: SIM115  closed by close()
        self._write(_field(1, _DOUBLE, struct.pack("<d", now_s)) + _text(3, _VERSION))

    def add(self, time_s: float, step: int, number_by_tag: Mapping[str, float]) -> None:
        """Keep numbers of one instant."""
        values = b"".join(
            _text(1, _text(1, tag.encode()) + _field(2, _FLOAT, _float(number)))
            for tag, number in number_by_tag.items()
        )
        head = _field(1, _DOUBLE, struct.pack("<d", time_s)) + _field(2, _VARINT, _varint(step))
        self._write(head + _text(5, values))

    def flush(self) -> None:
        """Let those who read see it."""
        self._file.flush()

    def _write(self, event: bytes) -> None:
        length = _LENGTH.pack(len(event))
        self._file.write(length + _masked(length) + event + _masked(event))

    def close(self) -> None:
        self._file.close()


def _field(number: int, form: int, content: bytes) -> bytes:
    return bytes([number << 3 | form]) + content


def _text(number: int, content: bytes) -> bytes:
    return _field(number, _BYTES, _varint(len(content)) + content)


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # a loss on its way to infinity
        return struct.pack("<f", math.copysign(math.inf, value))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _row(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_row(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """The checksum of Castagnoli."""
    found = 0xFFFFFFFF
    for byte in data:
        found = found >> 8 ^ _TABLE[(found ^ byte) & 0xFF]
    return found ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    found = crc32c(data)
    return _CHECK.pack(((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)
