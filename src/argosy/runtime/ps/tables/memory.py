"""Memory of tables: arrays in files, which a server that was killed finds again as they were.

A file is as long as its array may ever become but takes room on the disk only as far as ``reserve``
has gone: what is reserved can be written without running out of space half way. The kernel keeps
what a process has written even if it is killed at the next instruction; a power failure is not
covered.

The first touch of a page costs many times the work on it. In arrays that have grown large a thread
touches the pages of the next block while this one fills.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import TableError

_BLOCK_BYTES = 16 << 20
_LARGE_BYTES = 4 * _BLOCK_BYTES
_POPULATE_WRITE = 23  # of madvise, since Linux 5.14; mmap has no name for it


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
            raise TableError(
                f"cannot make table memory of up to {total} bytes at {path}: {error}"
            ) from error
        self.array: npt.NDArray[Any] = np.frombuffer(memory, dtype).reshape(shape)
        self._reserved = 0
        self._ahead: _Block | None = None

    def reserve(self, num_rows: int) -> None:
        """Have room for so many rows; TableError if the disk has not."""
        wanted = num_rows * self._row_bytes
        if wanted <= self._reserved:
            return
        if self._ahead is not None:
            self._ahead.finish()
            self._reserved, self._ahead = self._ahead.stop, None
        if wanted > self._reserved:
            stop = min(-(-wanted // _BLOCK_BYTES) * _BLOCK_BYTES, self.array.nbytes)
            try:
                self._take(stop)
            except OSError as error:
                raise TableError(
                    f"no room for {num_rows} rows at {self.path}: {error.strerror}"
                ) from error
            self._reserved = stop
        self._look_ahead()

    def _take(self, stop: int) -> None:
        """Take the disk's room up to ``stop``."""
        os.posix_fallocate(self._fd, self._reserved, stop - self._reserved)

    def _look_ahead(self) -> None:
        """Have the block after the reserved ones made ready, if there is room for it."""
        stop = min(self._reserved + _BLOCK_BYTES, self.array.nbytes)
        if self._reserved < _LARGE_BYTES or stop == self._reserved:
            return
        try:
            self._take(stop)
        except OSError:
            return  # an error when it is needed
        self._ahead = _Block(self.array.ctypes.data, self._reserved, stop)

    @property
    def num_bytes(self) -> int:
        """Bytes that are reserved."""
        return self._reserved

    def close(self) -> None:
        """Let go of the memory; the file stays."""
        if self._ahead is not None:
            self._ahead.finish()
        self.array = self.array[:0]
        os.close(self._fd)


class _Block:
    """Bytes of the memory at ``address`` whose pages a thread touches."""

    def __init__(self, address: int, start: int, stop: int) -> None:
        self.stop = stop
        self._begin = address + start - start % mmap.PAGESIZE
        self._end = address + stop
        self._thread = threading.Thread(target=self._touch, name="argosy-ps-memory", daemon=True)
        self._thread.start()

    def _touch(self) -> None:
        # without the interpreter's lock, which mmap.madvise would hold; an older kernel refuses,
        # and pages come one by one when they are met
        ctypes.CDLL(None).madvise(
            ctypes.c_void_p(self._begin), ctypes.c_size_t(self._end - self._begin), _POPULATE_WRITE
        )

    def finish(self) -> None:
        self._thread.join()


def agree(name: str, description: str, path: Path) -> None:
    """Keep the description of table ``name`` beside its memory; what lies there already must be a
    table of the same description.
    """
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.write_text(description)
        os.replace(fresh, path)
    elif path.read_text() != description:
        raise TableError(
            f"{path.parent} holds another table than {name!r}: {path.read_text()} instead of "
            f"{description}"
        )
