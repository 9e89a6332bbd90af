"""Values of scopes in files of their own: a tensor with its sequences, selected rows; and what
``paddle.save`` and ``paddle.load`` make of them and of programs.

Selected rows are

offset  bytes
0       4      version of the record, 0
4       8      number n of rows
12      8n     their numbers
..      8      height
..      rest   a tensor without a lod (``framework.tensor_file``)
"""

from __future__ import annotations

import os
import struct
from io import BytesIO
from typing import IO, Any

import numpy as np
import torch

from argosy.foundation.errors import CheckpointError, DtypeError, NotSupported
from argosy.foundation.files import replacing
from argosy.framework import static_kinds, tensor_file
from argosy.static.files import programs
from argosy.static.ir.lod import LoDTensor
from argosy.static.ir.program import Program
from argosy.static.ir.selected_rows import SelectedRows
from argosy.static.ir.variable import Variable

_MOST_ROWS = 2**40


class NoFolder(CheckpointError, RuntimeError):
    """A file is to be read or written where there is no such file or folder."""


def write_value(obj: LoDTensor | SelectedRows, file: IO[bytes]) -> None:
    """Append a tensor with its sequences, or selected rows, to ``file``."""
    if isinstance(obj, LoDTensor):
        tensor_file.write(obj.raw_tensor(), file, obj.lod())
        return
    values, rows = obj.get_tensor().raw_tensor(), obj.rows()
    file.write(struct.pack(f"<IQ{len(rows)}qq", 0, len(rows), *rows, obj.height()))
    tensor_file.write_plain(values, file)


def read_lod_tensor(file: IO[bytes], source: str) -> LoDTensor:
    """The next tensor of ``file``, with its sequences."""
    return LoDTensor(*tensor_file.read_with_lod(file, source))


def read_selected_rows(file: IO[bytes], source: str) -> SelectedRows:
    """The next selected rows of ``file``."""
    version, count = struct.unpack("<IQ", tensor_file.exactly(file, 12, source))
    if version != 0 or count > _MOST_ROWS:
        raise CheckpointError(f"{source} holds no selected rows")
    *rows, height = struct.unpack(
        f"<{count + 1}q", tensor_file.exactly(file, 8 * (count + 1), source)
    )
    values = tensor_file.read_plain(file, source)
    if values.dim() == 0 or values.shape[0] != count:
        raise CheckpointError(
            f"{source} is damaged: {count} rows, but values of shape {list(values.shape)}"
        )
    found = SelectedRows(rows, height)
    found.get_tensor().take_over(values)
    return found


# -- by path, as ``core`` has them
# --------------------------------------------------------------------------------------------------


def save_value(obj: Any, path: str) -> None:
    """Write a tensor or selected rows to a file; its folder must be there."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise NoFolder(f"there is no folder {os.path.dirname(path)!r} to write {path!r} to")
    with replacing(path) as file:
        write_value(obj, file)


def load_lod_tensor(tensor: LoDTensor, path: str) -> None:
    """Fill ``tensor`` from a file."""
    with _opened(path) as file:
        found = read_lod_tensor(file, repr(path))
    tensor.take_over(found.raw_tensor())
    tensor.set_lod(found.lod())


def load_selected_rows(selected: SelectedRows, path: str) -> None:
    """Fill ``selected`` from a file."""
    with _opened(path) as file:
        found = read_selected_rows(file, repr(path))
    selected.set_rows(found.rows())
    selected.set_height(found.height())
    selected.get_tensor().take_over(found.get_tensor().raw_tensor())


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise NoFolder(f"there is no file {path!r}") from None


# -- by path or in memory, as ``framework.io`` has them
# --------------------------------------------------------------------------------------------------


def save_to(obj: Any, file_name: Any) -> None:
    """Write a tensor or selected rows to a file, whose folder is made, or to a BytesIO."""
    if isinstance(file_name, BytesIO):
        write_value(obj, file_name)
        return
    _check_name(file_name)
    with replacing(os.path.realpath(file_name)) as file:
        write_value(obj, file)


def load_lod_tensor_from(file_name: Any) -> LoDTensor:
    """The tensor in a file or a BytesIO."""
    if isinstance(file_name, BytesIO):
        return read_lod_tensor(file_name, "the BytesIO")
    _check_name(file_name)
    with _opened(file_name) as file:
        return read_lod_tensor(file, repr(file_name))


def load_selected_rows_from(file_name: Any) -> SelectedRows:
    """The selected rows in a file or a BytesIO."""
    if isinstance(file_name, BytesIO):
        return read_selected_rows(file_name, "the BytesIO")
    _check_name(file_name)
    with _opened(file_name) as file:
        return read_selected_rows(file, repr(file_name))


def _check_name(file_name: Any) -> None:
    if not isinstance(file_name, (str, os.PathLike)):
        raise NotSupported(
            "a value is saved to and loaded from a path or a BytesIO, but received "
            f"{type(file_name).__name__}"
        )


# -- what paddle.save and paddle.load ask
# --------------------------------------------------------------------------------------------------


class _Kinds:
    def array_of(self, obj: Any) -> np.ndarray | None:
        return obj.numpy() if isinstance(obj, LoDTensor) else None

    def is_program(self, obj: Any) -> bool:
        return isinstance(obj, Program)

    def write(self, obj: Any, file: IO[bytes]) -> bool:
        if isinstance(obj, Program):
            file.write(obj.desc.serialize_to_string())
        elif isinstance(obj, (LoDTensor, SelectedRows)):
            write_value(obj, file)
        else:
            return False
        return True

    def read(self, file: IO[bytes], source: str) -> Any:
        """A program, or selected rows: a tensor is tried before."""
        start = file.tell()
        try:
            return read_selected_rows(file, source)
        except CheckpointError:
            file.seek(start)
        return programs.loads(file.read(), source)[0]

    def holder(self, raw: torch.Tensor, lod: list[list[int]]) -> LoDTensor:
        return LoDTensor(raw, lod)


def install() -> None:
    """Tell ``paddle.save`` and ``paddle.load`` of the values of programs."""
    static_kinds.install(_Kinds())


# -- variables, as ``framework.io_utils`` has them
# --------------------------------------------------------------------------------------------------


def get_value(var: Variable, scope: Any = None) -> Any:
    """The value that ``scope`` (the current one by default) holds for a variable."""
    return var.get_value(scope)


def set_value(var: Variable, value: Any, scope: Any = None) -> None:
    """Overwrite the value that ``scope`` (the current one by default) holds for a variable."""
    var.set_value(value, scope)


def is_pir_fetch_var(value: Any) -> bool:
    """Whether a variable is what a fetch operator made: never, a run fetches without them."""
    if not isinstance(value, Variable):
        raise DtypeError(f"expected a Variable, but received {type(value).__name__}")
    return False
