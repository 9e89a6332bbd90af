"""Memory that a client and a server on one host share beside a stream, so that the columns of
requests and answers need not pass through the socket: a segment, as the ranks of a host have, but
one in which neither side trusts the other.

The client makes it (memfd, which no folder shows and which goes with the last process that has it)
and offers it in the metadata of a request::

    "memory": {"pid": p, "fd": n, "bytes": b, "nonce": its first 32 bytes, which are random}

The server opens ``/proc/p/fd/n``. It takes nothing but a memfd that is sealed against shrinking,
so that no peer can take memory away from under it, and that begins with the nonce, so that it is
the client's and not that of a process with the same number on another host. Its answer says
``"memory": true`` or false. From then on either side may write the columns of a message into the
segment, and send only where they are, as ``"columns": [[offset, count], ...]``, in the order of the
stream's schema; of a list its one element counts. Requests and answers alternate, so there is one
message in it at a time.

A peer may write to it at any time. Ids, which a server reads more than once, are copied; numbers
may be anything anyway.
"""

from __future__ import annotations

import mmap
import os
import secrets
import stat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argosy.foundation import memory_file
from argosy.foundation.errors import UsageError
from argosy.runtime.ps.wire import messages

_NONCE_BYTES = 32
_LINE = 64
_HEAD = _LINE  # bytes before the first column
_TYPES: dict[Any, np.dtype[Any]] = {
    pa.int64(): np.dtype(np.int64),
    pa.float32(): np.dtype(np.float32),
}
_MOST = 1 << 40


class SharedColumns:
    """Columns of messages in a segment, of which this process has mapped all."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._bytes = np.frombuffer(memory, np.uint8)

    @property
    def num_bytes(self) -> int:
        return self._bytes.shape[0]

    def close(self) -> None:
        """Let go of it; the memory goes when nothing reads it any more."""
        self._bytes = np.empty(0, np.uint8)

    def begins_with(self, nonce: Any) -> bool:
        """Whether these bytes, in hexadecimal digits, were put here by who made it."""
        return bool(self._bytes[:_NONCE_BYTES].tobytes().hex() == nonce)

    def place(self, batch: pa.RecordBatch) -> list[tuple[int, int]] | None:
        """Copy the columns of a batch here; where they are, None if there is no room."""
        arrays = [_array(column) for column in _columns(batch)]
        places, end = [], _HEAD
        for array in arrays:
            places.append((end, array.shape[0]))
            end += -(-array.nbytes // _LINE) * _LINE
        if end > self.num_bytes:
            return None
        for array, (offset, _) in zip(arrays, places, strict=True):
            found = self._bytes[offset : offset + array.nbytes].view(array.dtype)
            if found.ctypes.data != array.ctypes.data:  # it was made in ``room``
                found[:] = array.reshape(-1)
        return places

    def room(self, count: int, dim: int) -> npt.NDArray[np.float32] | None:
        """Where ``place`` would copy the rows of a batch with one column; None if they do not fit.
        What the peer has put there is overwritten.
        """
        end = _HEAD + count * dim * 4
        if end > self.num_bytes:
            return None
        return self._bytes[_HEAD:end].view(np.float32).reshape(count, dim)

    def batch(self, places: Any, schema: pa.Schema, copies_ids: bool) -> pa.RecordBatch:
        """The batch whose columns the peer says to have put here, in this memory, except for ids
        where they are copied; UsageError if they cannot be here.
        """
        if not isinstance(places, list) or len(places) != len(schema):
            raise UsageError(
                f"the columns in a segment must be a list of {len(schema)}, but are {places!r:.80}"
            )
        kinds = [t.value_type if pa.types.is_list(t) else t for t in schema.types]
        columns = [
            self._column(place, kind, copies_ids) for place, kind in zip(places, kinds, strict=True)
        ]
        if any(pa.types.is_list(t) for t in schema.types):
            return messages.in_one_row(columns, schema)
        return pa.record_batch(columns, schema=schema)

    def _column(self, place: Any, kind: pa.DataType, copies_ids: bool) -> pa.Array:
        is_rows = pa.types.is_fixed_size_list(kind)
        dtype = _TYPES.get(kind.value_type if is_rows else kind)
        if dtype is None:
            raise UsageError(f"a segment holds no columns of {kind}")
        if not isinstance(place, list) or len(place) != 2 or any(type(n) is not int for n in place):
            raise UsageError(f"a column in a segment is an offset and a count, not {place!r:.80}")
        offset, count = place
        size = count * (kind.list_size if is_rows else 1) * dtype.itemsize
        is_inside = _HEAD <= offset <= self.num_bytes - size
        if offset % _LINE or not 0 <= count < _MOST or not is_inside:
            raise UsageError(
                f"a column of {count} at {offset} is not in a segment of {self.num_bytes} bytes"
            )
        found = self._bytes[offset : offset + size].view(dtype)
        if is_rows:
            return messages.rows_array(found.reshape(count, kind.list_size))
        return pa.array(found.copy() if copies_ids and dtype == np.int64 else found)


def _columns(batch: pa.RecordBatch) -> list[pa.Array]:
    is_listing = any(pa.types.is_list(t) for t in batch.schema.types)
    return messages.lists(batch) if is_listing else batch.columns


def _array(column: pa.Array) -> npt.NDArray[Any]:
    if pa.types.is_fixed_size_list(column.type):
        return messages.rows_of(column)
    return messages.numbers(column)


class Offered(SharedColumns):
    """In a segment of this process, which others may map."""

    def __init__(self, num_bytes: int) -> None:
        self._fd = memory_file.make("ps", num_bytes)
        try:
            super().__init__(mmap.mmap(self._fd, num_bytes))
        except BaseException:
            os.close(self._fd)
            raise
        self._nonce = secrets.token_bytes(_NONCE_BYTES)
        self._bytes[:_NONCE_BYTES] = np.frombuffer(self._nonce, np.uint8)

    @property
    def offer(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "fd": self._fd,
            "bytes": self.num_bytes,
            "nonce": self._nonce.hex(),
        }

    def close(self) -> None:
        """Let nobody map it any more, and let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        super().close()


def accepted(offer: Any) -> SharedColumns | None:
    """The segment that a peer offers; None if it cannot be had, or is not what it should be."""
    if not isinstance(offer, dict):
        return None
    numbers: list[Any] = [offer.get(key) for key in ("pid", "fd", "bytes")]
    if any(type(n) is not int or n < 0 for n in numbers):
        return None
    pid, number, size = numbers
    if size < _HEAD:
        return None
    path = f"/proc/{pid}/fd/{number}"
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening anything else may do something
            return None
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        # in this order: what can shrink may have another size a moment later
        if not memory_file.cannot_shrink(fd) or os.fstat(fd).st_size != size:
            return None
        found = SharedColumns(mmap.mmap(fd, size))
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)
    return found if found.begins_with(offer.get("nonce")) else None


# -- a stream's use of it
# --------------------------------------------------------------------------------------------------

_LEAST = 1 << 16  # smaller messages are not worth it
_MORE = 1.5


class OfClient:
    """What a client does with the messages of a stream to a server on its own host. A segment is
    offered with the first message that is worth it, and a larger one when a message did not fit.
    """

    def __init__(self) -> None:
        self._segment: Offered | None = None
        self._is_shared = False
        self._wanted = 0  # bytes of the largest message
        self._is_refused = False
        self._schema: pa.Schema | None = None  # of answers

    def request(
        self, batch: pa.RecordBatch, data: dict[str, Any]
    ) -> tuple[pa.RecordBatch | None, dict[str, Any]]:
        """What is sent of a request."""
        if self._is_refused:
            return batch, data
        self._note(batch)
        if self._segment is not None and self._is_shared:
            places = self._segment.place(batch)
            if places is not None and self._wanted <= self._segment.num_bytes:
                return None, {**data, "columns": places}
        if self._wanted < _LEAST:
            return batch, data
        self.close()
        try:
            self._segment = Offered(int(self._wanted * _MORE))
        except OSError:  # no descriptors, no memory, a kernel without seals
            self._is_refused = True
            return batch, data
        return batch, {**data, "memory": self._segment.offer}

    def answer(self, batch: pa.RecordBatch | None, data: dict[str, Any]) -> pa.RecordBatch | None:
        """The batch of an answer; what is in the segment stays there until the next request."""
        if "memory" in data:
            self._is_shared = data["memory"] is True
            self._is_refused = not self._is_shared
        if batch is None and "columns" in data:
            if self._segment is None or self._schema is None:
                raise UsageError("an answer lies in a segment that was not offered")
            batch = self._segment.batch(data["columns"], self._schema, copies_ids=False)
        elif batch is not None:
            self._schema = batch.schema
        if batch is not None:
            self._note(batch)
        return batch

    def _note(self, batch: pa.RecordBatch) -> None:
        # every column begins at a line of its own, after the head
        room = batch.nbytes + _LINE * batch.num_columns + _HEAD
        self._wanted = max(self._wanted, room)

    def close(self) -> None:
        if self._segment is not None:
            self._segment.close()
        self._segment, self._is_shared = None, False


class OfServer:
    """What a server does with the messages of a stream."""

    def __init__(self) -> None:
        self._segment: SharedColumns | None = None
        self._asked: pa.Schema | None = None  # the schema of requests
        self._was_answered = False  # with a batch, so that the client knows the schema of answers

    def request(self, batch: pa.RecordBatch | None, data: dict[str, Any]) -> pa.RecordBatch | None:
        """The batch of a request."""
        if "memory" in data:
            self._segment = accepted(data["memory"])
        if batch is not None:
            self._asked = batch.schema
        elif "columns" in data:
            if self._segment is None or self._asked is None:
                raise UsageError("a request lies in a segment that this server does not have")
            batch = self._segment.batch(data["columns"], self._asked, copies_ids=True)
        return batch

    def room(self, count: int, dim: int) -> npt.NDArray[np.float32] | None:
        """Memory for rows that are all of the answer, to save a copy of them; None: there is
        none.
        """
        return None if self._segment is None else self._segment.room(count, dim)

    def answer(
        self, batch: pa.RecordBatch | None, data: dict[str, Any], asked: dict[str, Any]
    ) -> tuple[pa.RecordBatch | None, dict[str, Any]]:
        """What is sent of an answer to the request with the metadata ``asked``."""
        if "memory" in asked:
            data = {**data, "memory": self._segment is not None}
        if batch is None or self._segment is None or "columns" not in asked:
            self._was_answered |= batch is not None
            return batch, data
        places = self._segment.place(batch) if self._was_answered else None
        return (batch, data) if places is None else (None, {**data, "columns": places})
