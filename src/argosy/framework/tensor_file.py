"""One tensor in Paddle's binary format, that of ``use_binary_format=True`` and of the variable
files of static programs.

offset  bytes
0       4      version of the record, 0
4       8      number of LoD levels, then each level: 8 bytes of length, that many bytes
..      4      version of the tensor, 0
..      4      length n of the description
..      n      protobuf: field 1 element type, field 2 each dimension (varints)
..      rest   the elements, little endian, row-major
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import numpy as np
import torch

from argosy.foundation import arrays, dtypes
from argosy.foundation.errors import CheckpointError, NotSupported


class CutShort(CheckpointError, RuntimeError):
    """A file ends before the tensor that it holds."""


def write(raw: torch.Tensor, file: IO[bytes], lod: Sequence[Sequence[int]] = ()) -> None:
    """Append one tensor, with the offsets of its sequences, to ``file``."""
    file.write(_levels(lod))
    write_plain(raw, file)


def write_plain(raw: torch.Tensor, file: IO[bytes]) -> None:
    """Append one tensor without what says of its sequences."""
    file.write(_plain_header(raw.dtype, raw.shape))
    flat = raw.detach().cpu().contiguous().reshape(-1)
    file.write(flat.view(torch.uint8).numpy().data)


def header(dtype: torch.dtype, shape: Iterable[int]) -> bytes:
    """What stands before the elements of a tensor."""
    return _levels(()) + _plain_header(dtype, shape)


def _levels(lod: Sequence[Sequence[int]]) -> bytes:
    levels = [struct.pack(f"<Q{len(offsets)}Q", 8 * len(offsets), *offsets) for offsets in lod]
    return struct.pack("<IQ", 0, len(lod)) + b"".join(levels)


def _plain_header(dtype: torch.dtype, shape: Iterable[int]) -> bytes:
    if dtype not in dtypes.CODE_BY_TORCH:
        raise NotSupported(f"the binary format has no element type for {dtypes.name_of(dtype)}")
    description = b"\x08" + _varint(dtypes.CODE_BY_TORCH[dtype])
    for extent in shape:
        description += b"\x10" + _varint(extent)
    return struct.pack("<Ii", 0, len(description)) + description


def read(file: IO[bytes], source: str) -> torch.Tensor:
    """Read the next tensor of ``file``, which must be seekable; ``source`` names it in messages."""
    return read_with_lod(file, source)[0]


def read_with_lod(file: IO[bytes], source: str) -> tuple[torch.Tensor, list[list[int]]]:
    """Read the next tensor of ``file``, and the offsets of its sequences."""
    (version, num_levels) = struct.unpack("<IQ", exactly(file, 12, source))
    if version != 0 or num_levels > 16:
        raise CheckpointError(
            f"{source} is neither a pickle nor a tensor in Paddle's binary format"
        )
    lod = []
    for _ in range(num_levels):
        (length,) = struct.unpack("<Q", exactly(file, 8, source))
        level = exactly(file, length, source)
        lod.append(list(struct.unpack(f"<{length // 8}Q", level[: length // 8 * 8])))
    return read_plain(file, source), lod


def read_plain(file: IO[bytes], source: str) -> torch.Tensor:
    """Read the next tensor of ``file`` where nothing says of its sequences."""
    (version, length) = struct.unpack("<Ii", exactly(file, 8, source))
    if version != 0 or not 0 < length < 4096:
        raise CheckpointError(
            f"{source} is neither a pickle nor a tensor in Paddle's binary format"
        )
    dtype, shape = _described(exactly(file, length, source), source)
    try:
        size = arrays.bytes_of(shape, dtype.itemsize)
    except arrays.BadArray as error:
        raise CheckpointError(f"{source} is damaged: {error}") from None
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    data = np.frombuffer(bytearray(exactly(file, size, source)), np.uint8)
    if dtype is torch.bool and data.max() > 1:
        raise CheckpointError(f"{source} is damaged: it has truth values other than 0 and 1")
    return torch.from_numpy(data).view(dtype).reshape(shape)


def _described(description: bytes, source: str) -> tuple[torch.dtype, list[int]]:
    """Element type and shape."""
    code, shape = -1, []
    for field, value in _fields(description, source):
        if field == 1:
            code = value
        elif field == 2:
            shape.append(value)
    if code not in dtypes.TORCH_BY_CODE:
        raise CheckpointError(f"{source} holds a tensor of unknown element type {code}")
    return dtypes.TORCH_BY_CODE[code], shape


def exactly(file: IO[bytes], size: int, source: str) -> bytes:
    """The next ``size`` bytes; a file that has fewer is refused."""
    _check_left(file, size, source)
    data = file.read(size)
    if len(data) != size:
        raise CutShort(
            f"{source} is cut short: {size} bytes were expected where {len(data)} are left"
        )
    return data


def _check_left(file: IO[bytes], size: int, source: str) -> None:
    """A size that the file does not have is refused before memory is taken for it."""
    position = file.tell()
    left = file.seek(0, io.SEEK_END) - position
    file.seek(position)
    if size > left:
        raise CutShort(f"{source} is cut short: {size} bytes were expected where {left} are left")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(description: bytes, source: str) -> Iterator[tuple[int, int]]:
    """The (field, number) pairs of a protobuf message that has only varints, packed or not."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            if position >= len(description):
                raise CheckpointError(f"{source}: the description of the tensor is damaged")
            byte = description[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise CheckpointError(f"{source}: the description of the tensor is damaged")

    while position < len(description):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            end = varint() + position
            while position < end:
                yield key >> 3, varint()
        else:
            raise CheckpointError(f"{source}: the description of the tensor is damaged")
