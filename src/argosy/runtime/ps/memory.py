"""Memory of tables: arrays in files, which a server that was killed finds again as they were.

A file is as long as its array may ever become but takes room on the disk only as far as ``reserve`` has gone: what is reserved can be written without running
out of space half way. The kernel keeps what a process has written even if it is killed at the next instruction; a power failure is not covered.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import TableError

_BLOCK_BYTES = 16 << 20


class Column:
    """An array of up to ``max_rows`` rows of ``width`` numbers in a file; new rows are zeros."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, max_rows: int, width: int = 0) -> None:
        self.path = path
        shape = (max_rows, width) if width else (max_rows,)
        self._row_bytes = np.dtype(dtype).itemsize * max(width, 1)
        total = max_rows * self._row_bytes
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(self._fd).st_size != total:
                os.ftruncate(self._fd, total)
            memory = mmap.mmap(self._fd, total)
        except (OSError, ValueError) as error:
            os.close(self._fd)
            raise TableError(f"cannot make table memory of up to {total} bytes at {path}: {error}") from error
        self.array: npt.NDArray[Any] = np.frombuffer(memory, dtype).reshape(shape)
        self._reserved = 0

    def reserve(self, num_rows: int) -> None:
        """Have room for so many rows; TableError if the disk has not."""
        wanted = num_rows * self._row_bytes
        if wanted <= self._reserved:
            return
        stop = min(-(-wanted // _BLOCK_BYTES) * _BLOCK_BYTES, self.array.nbytes)
        try:
            os.posix_fallocate(self._fd, self._reserved, stop - self._reserved)
        except OSError as error:
            raise TableError(f"no room for {num_rows} rows at {self.path}: {error.strerror}") from error
        self._reserved = stop

    @property
    def num_bytes(self) -> int:
        """Bytes that are reserved."""
        return self._reserved

    def close(self) -> None:
        """Let go of the memory; the file stays."""
        self.array = self.array[:0]
        os.close(self._fd)


def agree(name: str, description: str, path: Path) -> None:
    """Keep the description of table ``name`` beside its memory; what lies there already must be a table of the same description."""
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.write_text(description)
        os.replace(fresh, path)
    elif path.read_text() != description:
        raise TableError(
            f"{path.parent} holds another table than {name!r}: {path.read_text()} instead of {description}"
        )
