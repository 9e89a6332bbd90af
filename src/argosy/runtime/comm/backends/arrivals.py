"""How far each rank of a group on one host has come, for groups that do not tell: the number of the
collective that it has started last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.shm.care import await_keys
from argosy.runtime.comm.backends.shm.segment import Segment

if TYPE_CHECKING:
    import numpy.typing as npt


class Arrivals:
    """A row of counters in a segment of its own, made by all ranks together through ``store``."""

    def __init__(self, name: str, rank: int, store: Any, seat: Seat, timeout_s: float) -> None:
        key, size = f"argosy/arrivals/{name}", 8 * len(seat.ranks)
        if rank == 0:
            segment = Segment.create(f"{name}-arrivals", size)
            store.set(key, segment.handle)
        else:
            await_keys(
                store, {seat.ranks[0]: key}, seat.board, f"joining of group {name!r}", timeout_s
            )
            segment = Segment.attach(store.get(key).decode())
        self._counts: npt.NDArray[Any] = segment.array(0, (len(seat.ranks),), np.int64)
        segment.close()  # the counters keep the memory
        self._rank = rank
        self._ranks = list(seat.ranks)

    def start(self, number: int) -> None:
        """Say that this rank has come to collective ``number``."""
        self._counts[self._rank] = number

    def missing(self, number: int) -> list[int]:
        """The ranks of the job that have not come to it."""
        return [self._ranks[r] for r in np.flatnonzero(self._counts < number).tolist()]

    def close(self) -> None:
        self._counts = self._counts.copy()
