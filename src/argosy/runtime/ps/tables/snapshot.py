"""A table as it was at one instant, read while it goes on changing.

Ids are copied at once. Rows are copied in chunks, and a push keeps the old contents of rows that
have not been copied yet: training waits for a chunk at a time, not for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argosy.runtime.ps.tables import rows as loops

CHUNK_ROWS = 1 << 16


@dataclass(frozen=True)
class Snapshot:
    """Some rows, whole: values, the rule's state, and shows and clicks where the table keeps
    them.
    """

    ids: npt.NDArray[np.int64]
    rows: npt.NDArray[np.float32]


class UnderWay:
    """A snapshot being taken. The table's lock is held around every call."""

    def __init__(
        self,
        memory: npt.NDArray[np.float32],
        ids: npt.NDArray[np.int64],
        used: npt.NDArray[np.uint8],
    ) -> None:
        self._memory = memory
        self._numbers = np.flatnonzero(used).astype(np.int32)
        self._ids = ids[self._numbers]
        self._is_awaited = used.astype(bool)  # rows that are neither copied nor kept yet
        self._kept: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]] = []

    def keep(self, rows: npt.NDArray[np.int32]) -> None:
        """Put aside what is in ``rows``, all different, which are about to change."""
        rows = rows[rows < self._is_awaited.shape[0]]
        rows = rows[self._is_awaited[rows]]
        if rows.shape[0]:
            values = np.empty((rows.shape[0], self._memory.shape[1]), np.float32)
            loops.copy_out(self._memory, rows, values)
            self._kept.append((rows, values))
            self._is_awaited[rows] = False

    def starts(self) -> Iterator[int]:
        return iter(range(0, self._numbers.shape[0], CHUNK_ROWS))

    def chunk(self, start: int) -> Snapshot:
        """The rows from ``start`` on, as they were at the beginning."""
        numbers = self._numbers[start : start + CHUNK_ROWS]
        values = np.empty((numbers.shape[0], self._memory.shape[1]), np.float32)
        loops.copy_out(self._memory, numbers, values)
        self._is_awaited[numbers] = False
        for rows, old in self._kept:
            inside = (rows >= numbers[0]) & (rows <= numbers[-1])
            values[np.searchsorted(numbers, rows[inside])] = old[inside]
        return Snapshot(self._ids[start : start + CHUNK_ROWS], values)
