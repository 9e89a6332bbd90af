"""A dense table: a flat range of numbers that every worker reads and changes as a whole.

What an optimizer does with gradients is the owner's business: ``make_update`` is given the values
of each piece as torch tensors, and a function that makes tensors for its state; all of them lie in
the table's file, so that a killed server finds parameters and optimizer state together. Pushes are
all or nothing and happen once, as in a sparse table; here the journal keeps the whole range.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.errors import OutOfRange, TableError
from argosy.runtime.ps.tables.journal import MAX_WORKERS, Journal
from argosy.runtime.ps.tables.memory import Column, agree

_BLOCK = 1024  # numbers per row of the journal
_PER_VALUE = 16  # room for optimizer state: numbers per value, and for small states of each piece
_SPARE = 64


@dataclass(frozen=True)
class Piece:
    """Elements [start, stop) of the flattened parameter ``name``, which has ``shape``; the whole
    parameter if these are all.
    """

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def numel(self) -> int:
        return self.stop - self.start

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == math.prod(self.shape)


@dataclass(frozen=True)
class DenseSpec:
    """The pieces that one server holds, in order, and what the owner needs to make their optimizer
    again (``optimizer``, plain JSON data).
    """

    name: str
    pieces: tuple[Piece, ...]
    optimizer: str = "{}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> DenseSpec:
        """Read what ``to_json`` wrote; TableError for anything else."""
        try:
            fields = json.loads(text)
            pieces = tuple(Piece(**{**p, "shape": tuple(p["shape"])}) for p in fields.pop("pieces"))
            return cls(pieces=pieces, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TableError(f"this is no description of a dense table: {error}") from error


# Makes a tensor for the state of a piece: (piece, name of the state, shape, number to fill it
# with). After a restart it is found again as it was.
MakeState = Callable[[Piece, str, Sequence[int], float], torch.Tensor]
# Changes the values by the gradients of all pieces, at a learning rate (None: the optimizer's own).
Update = Callable[[list[torch.Tensor], "float | None"], None]
MakeUpdate = Callable[[DenseSpec, list[torch.Tensor], MakeState], Update]


class DenseTable:
    """``folder`` holds the table's files; ``make_update`` makes the optimizer of the pieces."""

    def __init__(self, spec: DenseSpec, folder: Path, make_update: MakeUpdate) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        agree(spec.name, spec.to_json(), folder / "spec.json")
        self.spec = spec
        self.numel = sum(p.numel for p in spec.pieces)
        blocks = -(-(self.numel * _PER_VALUE + _SPARE * (len(spec.pieces) + 1)) // _BLOCK)
        self._memory = Column(folder / "values", np.float32, blocks, _BLOCK)
        self._memory.reserve(blocks)
        self._flat = torch.from_numpy(self._memory.array.reshape(-1))
        self._places = Places(folder / "places.json", self.numel)
        self._journal = Journal(folder, self._memory, blocks)
        self.was_cut_off = self._journal.recover()
        self._filled = folder / "filled"
        self._lock = threading.Lock()
        self._is_closed = False  # guarded by _lock, as is everything in the memory
        self._update = make_update(spec, self._split(self._flat[: self.numel]), self._make_state)

    def _split(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """The pieces of a flat tensor; whole parameters in their shape."""
        parts = torch.split(flat, [p.numel for p in self.spec.pieces])
        return [
            t.view(p.shape) if p.is_whole else t
            for t, p in zip(parts, self.spec.pieces, strict=True)
        ]

    def _make_state(
        self, piece: Piece, name: str, shape: Sequence[int], fill: float
    ) -> torch.Tensor:
        count = math.prod(shape)
        start, is_new = self._places.find(f"{piece.name}|{name}", count)
        if start + count > self._flat.numel():
            raise TableError(
                f"dense table {self.spec.name!r} has no room for optimizer state {name!r} of "
                f"parameter {piece.name!r}: {count} numbers"
            )
        state = self._flat[start : start + count].view(tuple(shape))
        if is_new:
            state.fill_(fill)
        return state

    @property
    def _num_used_blocks(self) -> int:
        return -(-self._places.end // _BLOCK)

    def pull(self) -> npt.NDArray[np.float32]:
        """A copy of the values."""
        with self._locked():
            return self._flat[: self.numel].numpy().copy()

    def fill(self, values: npt.NDArray[np.float32]) -> None:
        """Replace the values; optimizer state stays."""
        self._check("fill", values)
        with self._locked():
            self._flat[: self.numel] = torch.from_numpy(values)
            self._filled.touch()

    @property
    def is_filled(self) -> bool:
        """Whether the values were given; before that they are zeros."""
        return self._filled.exists()

    def push(
        self,
        grads: npt.NDArray[np.float32],
        *,
        worker: int,
        sequence: int,
        learning_rate: float | None = None,
    ) -> bool:
        """Apply gradients of the whole range; False if this push was applied before."""
        self.check_push(grads, worker)
        with self._locked():
            if sequence <= self._journal.applied(worker):
                return False
            with self._journal.changing(
                np.arange(self._num_used_blocks, dtype=np.int32), worker, sequence
            ):
                self._update(self._split(torch.from_numpy(grads)), learning_rate)
        return True

    def add(self, deltas: npt.NDArray[np.float32], *, worker: int, sequence: int) -> bool:
        """Add differences to the values, past the optimizer; False if that happened before."""
        self._check("add", deltas)
        with self._locked():
            if sequence <= self._journal.applied(worker):
                return False
            with self._journal.changing(
                np.arange(self._num_used_blocks, dtype=np.int32), worker, sequence
            ):
                self._flat[: self.numel] += torch.from_numpy(deltas)
        return True

    def check_push(self, grads: npt.NDArray[np.float32], worker: int) -> None:
        """Refuse what cannot be pushed."""
        self._check("push", grads)
        if not 0 <= worker < MAX_WORKERS:
            raise OutOfRange(
                f"push to dense table {self.spec.name!r}: worker {worker} is not in [0, "
                f"{MAX_WORKERS})"
            )

    def _check(self, call: str, values: npt.NDArray[np.float32]) -> None:
        if values.shape != (self.numel,) or values.dtype != np.float32:
            raise TableError(
                f"{call} on dense table {self.spec.name!r}: it holds {self.numel} float32 "
                f"numbers, but received {values.dtype} of shape {values.shape}"
            )

    def applied(self, worker: int) -> int:
        """The number of the last push of ``worker`` that was applied."""
        return self._journal.applied(worker)

    def forget_pushes(self) -> None:
        """Count the pushes of all workers from 0 again."""
        with self._locked():
            self._journal.forget_pushes()

    @property
    def num_bytes(self) -> int:
        return 4 * self._places.end

    def snapshot(self) -> list[tuple[Piece, str, npt.NDArray[np.float32]]]:
        """Copies of the values of each piece (under the empty name) and of its states."""
        with self._locked():
            return [(piece, name, part.copy()) for piece, name, part in self._parts()]

    def load(self, arrays: dict[tuple[str, str], npt.NDArray[np.float32]]) -> None:
        """Take values and states from whole parameters: by name of the parameter and of the state
        ("" for values), flattened.

        A state of one number is taken as it is, others are cut like the values. Values must all be
        there; states that are not keep what they hold.
        """
        for piece in self.spec.pieces:
            given = arrays.get((piece.name, ""))
            if given is None or given.size != math.prod(piece.shape):
                raise TableError(
                    f"load of dense table {self.spec.name!r}: parameter {piece.name!r} has "
                    f"{math.prod(piece.shape)} elements, but "
                    + ("is not there" if given is None else f"{given.size} were given")
                )
        with self._locked():
            for piece, name, part in self._parts():
                given = arrays.get((piece.name, name))
                if given is not None:
                    part[:] = given if given.size == part.size else given[piece.start : piece.stop]
            self._filled.touch()

    def _parts(self) -> Iterator[tuple[Piece, str, npt.NDArray[np.float32]]]:
        flat, start = self._flat.numpy(), 0
        piece_by_name = {p.name: p for p in self.spec.pieces}
        for piece in self.spec.pieces:
            yield piece, "", flat[start : start + piece.numel]
            start += piece.numel
        for key, (at, count) in self._places.items():
            parameter, _, name = key.rpartition("|")
            yield piece_by_name[parameter], name, flat[at : at + count]

    def close(self) -> None:
        """Let go of the files, which stay."""
        with self._lock:
            self._is_closed = True
            del self._update, self._flat  # they hold the memory
            self._journal.close()
            self._memory.close()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of a table that is open."""
        with self._lock:
            if self._is_closed:
                raise TableError(f"dense table {self.spec.name!r} is closed")
            yield

    def __enter__(self) -> DenseTable:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Places:
    """Where in the flat memory each state lies, kept in a file beside it."""

    def __init__(self, path: Path, start: int) -> None:
        self._path = path
        self.end = start
        self._by_name: dict[str, tuple[int, int]] = {}
        if path.exists():
            self._by_name = {
                name: (at, count) for name, (at, count) in json.loads(path.read_text()).items()
            }
            self.end = max([start, *(at + count for at, count in self._by_name.values())])

    def find(self, name: str, count: int) -> tuple[int, bool]:
        """The place of a state of ``count`` numbers, and whether it was made now."""
        if name in self._by_name:
            return self._by_name[name][0], False
        start, self.end = self.end, self.end + count
        self._by_name[name] = (start, count)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._by_name))
        fresh.replace(self._path)
        return start, True

    def items(self) -> list[tuple[str, tuple[int, int]]]:
        return list(self._by_name.items())
