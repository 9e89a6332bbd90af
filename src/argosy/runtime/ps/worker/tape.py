"""What a worker needs to do its last step again after its process was killed.

At a resting point, between two steps, the worker gives its state: where in its data it is, its
random generators, what else the servers do not have. From then on everything that it reads from
servers is kept beside it. Before a push goes out, both are written down. A worker that is started
again begins at the resting point and is given the numbers that it read then, so it computes what it
computed; pushes carry the numbers that they had, by which each server knows, table by table, those
it has applied. So every push happens once, wherever the process was killed.

Two files are written in turn, each with a digest over all of it; the newest that is whole counts.
They are in memory of the kernel, not necessarily on disk: what they guard against is the end of a
process.

::

    32 bytes   SHA-256 of the rest
    8, 8 bytes lengths of the description and of all that follows it, little-endian
    ...        the description, JSON
    ...        state, dense values, ids and values of each read, one after the other
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import CheckpointError
from argosy.foundation.faultpoint import reach

log = logging.getLogger("argosy.ps")

# a file in which a worker says why it will not go on, for who would start it again
REFUSED = "refused"
_HEAD = struct.Struct("<32sQQ")
_SLOTS = ("step.0", "step.1")
_MOST_PUSHES = 64  # to each table from one resting point on; without any it would grow and grow

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Read:
    """Something that a worker read from servers: rows of a table by id, or its dense values (no
    ids).
    """

    table: str
    ids: npt.NDArray[np.int64]
    values: Floats


@dataclass(frozen=True)
class Rest:
    """A resting point: the worker's ``state``, the number of its last push to each table, and the
    dense values it had.

    ``num_pushes`` may have been made since, when it was written down.
    """

    state: bytes
    sequences: dict[str, int]
    dense: Floats
    num_pushes: int = 0


class Tape:
    """The files in ``folder``. ``found`` is the resting point that a process before this one left,
    until ``rewind`` takes it.

    ``keeps_reads``: a push is one step, so that steps can be done again exactly; without it only
    resting points are kept.
    """

    def __init__(self, folder: Path, keeps_reads: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.found: Rest | None = None
        self._keeps_reads = keeps_reads
        self._number = 0  # of the last record
        self._rest: Rest | None = None
        self._reads: list[Read] = []  # since the resting point
        self._again: deque[Read] = deque()  # those of the process before, still to be handed out
        self._num_pushes = 0
        self._is_written = True
        for slot in _SLOTS:
            record = _read_record(folder / slot)
            if record is not None and record[0] > self._number:
                self._number, self.found, self._again = record[0], record[1], deque(record[2])

    @property
    def is_resting(self) -> bool:
        """Whether there is a resting point to go back to."""
        return self._rest is not None

    def rest(self, state: bytes, sequences: Mapping[str, int], dense: Floats) -> None:
        """A step is complete: ``state`` is what the next one begins with."""
        if self._again:
            raise _other_data(f"{len(self._again)} reads fewer were made")
        self._rest = Rest(state, dict(sequences), dense)
        self._reads, self._num_pushes, self._is_written = [], 0, False
        if not self._keeps_reads:
            self._write()

    def rewind(self) -> Rest:
        """Take the resting point of the process before: what is read now are the numbers that it
        read.
        """
        assert self.found is not None
        self._rest, self.found = self.found, None
        self._is_written = True
        return self._rest

    def forget(self) -> None:
        """Nobody tells any more where in its data the worker is."""
        self._rest = self.found = None
        self._reads, self._num_pushes = [], 0
        self._again.clear()
        for slot in _SLOTS:
            (self.folder / slot).unlink(missing_ok=True)

    def read(self, table: str, ids: npt.NDArray[np.int64], fetch: Callable[[], Floats]) -> Floats:
        """What ``fetch`` reads from the servers, or what it read when this step was done before."""
        if self._rest is None or not self._keeps_reads:
            return fetch()
        if self._again:
            before = self._again.popleft()
            if before.table != table or not np.array_equal(before.ids, ids):
                raise _other_data(
                    f"{ids.size} ids of table {table!r} were asked for, not {before.ids.size} of "
                    f"{before.table!r}"
                )
            values = before.values
        else:
            values, self._is_written = fetch(), False
        # contiguous copies
        self._reads.append(Read(table, np.array(ids, np.int64), np.array(values, np.float32)))
        return values

    def before_push(self) -> None:
        """Have on record what the push that follows was computed from."""
        if self._rest is None:
            return
        self._num_pushes += 1
        if self._num_pushes > _MOST_PUSHES:
            log.warning(
                "%d pushes without the end of a step: if this worker is started again, it will "
                "not know where in its data it was",
                self._num_pushes,
            )
            self.forget()
        elif not self._is_written and self._keeps_reads:
            self._write()

    def refuse(self, reason: str) -> None:
        """Leave word for who would start this worker again."""
        (self.folder / REFUSED).write_text(reason)

    def _write(self) -> None:
        assert self._rest is not None
        self._number += 1
        rest = self._rest
        arrays = [rest.dense, *(array for read in self._reads for array in (read.ids, read.values))]
        pieces: list[bytes | memoryview] = [rest.state]
        pieces += [array.reshape(-1).data.cast("B") for array in arrays if array.size]
        facts = {
            "number": self._number,
            "num_pushes": self._num_pushes,
            "sequences": rest.sequences,
            "state": len(rest.state),
            "dense": int(rest.dense.size),
            "reads": [
                [read.table, int(read.ids.size), list(read.values.shape)] for read in self._reads
            ],
        }
        text = json.dumps(facts).encode()
        lengths = struct.pack("<QQ", len(text), sum(len(piece) for piece in pieces))
        seal = hashlib.sha256(lengths + text)
        for piece in pieces:
            seal.update(piece)
        fd = os.open(self.folder / _SLOTS[self._number % 2], os.O_WRONLY | os.O_CREAT, 0o600)
        with open(fd, "wb", buffering=0) as file:
            for part in (seal.digest(), lengths, text, *pieces):
                _write_all(file, part)
        self._is_written = True
        reach("ps.tape.written")


def _write_all(file: Any, piece: bytes | memoryview) -> None:
    done = 0
    while done < len(piece):
        done += file.write(piece[done:])


def _read_record(path: Path) -> tuple[int, Rest, list[Read]] | None:
    """The number of a record, its resting point and its reads; None if it was not written to the
    end.
    """
    try:
        data = memoryview(path.read_bytes())
        seal, length, total = _HEAD.unpack_from(data)
        data = data[32 : _HEAD.size + length + total]
        if hashlib.sha256(data).digest() != seal:
            return None
    except (FileNotFoundError, struct.error):
        return None
    facts = json.loads(bytes(data[16 : 16 + length]))
    at = 16 + length

    def take(num_bytes: int) -> memoryview:
        nonlocal at
        at += num_bytes
        return data[at - num_bytes : at]

    def numbers(count: int, kind: Any) -> Any:
        return np.frombuffer(take(count * np.dtype(kind).itemsize), kind).copy()

    state, dense = bytes(take(facts["state"])), numbers(facts["dense"], np.float32)
    reads = []
    for table, num_ids, shape in facts["reads"]:
        ids = numbers(num_ids, np.int64)
        reads.append(Read(table, ids, numbers(int(np.prod(shape)), np.float32).reshape(shape)))
    return facts["number"], Rest(state, facts["sequences"], dense, facts["num_pushes"]), reads


def _other_data(what: str) -> CheckpointError:
    return CheckpointError(
        "the step that is done again after the worker's restart is not the one that was under "
        f"way: {what}. "
        "The data must come in the same order after a restart."
    )
