"""The journal of a table: what makes a push happen wholly or not at all, and once.

Before rows change, their old contents are kept here, and then the journal is marked with the push's
worker and number. The push is done when the worker's entry in ``applied`` holds its number: one
store of eight bytes. A server that starts finds one of three states:

- not marked: nothing was changed;
- marked, and ``applied`` is lower: the old rows are put back, and the push, which nobody confirmed,
  will come again;
- marked, and ``applied`` is there: everything was changed, only the mark is old.

Each step is a call of its own, so neither the compiler nor the interpreter reorders them. An error
while rows change takes the push back in the same way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from argosy.foundation.faultpoint import reach
from argosy.runtime.ps.tables import rows as loops
from argosy.runtime.ps.tables.memory import Column

_ENTRIES = 1 << 16
DAY, PASSED = _ENTRIES - 1, _ENTRIES - 2  # entries of the calendar (``days.py``)
MAX_WORKERS = PASSED
_MARKED, _WORKER, _SEQUENCE, _COUNT = 0, 1, 2, 3


class Journal:
    """Keeps the old rows of the push under way."""

    def __init__(self, folder: Path, memory: Column, max_rows: int) -> None:
        self._memory = memory
        self._head = Column(folder / "journal_head", np.int64, 8)
        self._applied = Column(folder / "applied", np.int64, _ENTRIES)
        self._rows = Column(folder / "journal_rows", np.int32, max_rows)
        self._old = Column(folder / "journal_old", np.float32, max_rows, memory.array.shape[1])
        self._head.reserve(8)
        self._applied.reserve(_ENTRIES)

    def applied(self, worker: int) -> int:
        """The number of the last push of ``worker`` that was done; 0 before the first."""
        return int(self._applied.array[worker])

    def note(self, worker: int, sequence: int) -> None:
        """Have something done that changes no rows."""
        self._applied.array[worker] = sequence

    def forget_pushes(self) -> None:
        """Count the pushes of all workers from 0 again."""
        self._applied.array[:MAX_WORKERS] = 0

    def recover(self) -> bool:
        """Take back a push that was cut off; whether there was one."""
        head = self._head.array
        if not head[_MARKED]:
            return False
        is_done = self.applied(int(head[_WORKER])) >= head[_SEQUENCE]
        if not is_done:
            count = int(head[_COUNT])
            loops.copy_in(self._memory.array, self._rows.array[:count], self._old.array[:count])
        head[_MARKED] = 0
        return not is_done

    @contextlib.contextmanager
    def changing(self, rows: npt.NDArray[np.int32], worker: int, sequence: int) -> Iterator[None]:
        """Around what changes ``rows`` for a push: it happens wholly, or not at all."""
        self.begin(rows, worker, sequence)
        try:
            yield
        except BaseException:
            self.recover()
            raise
        self.commit(worker, sequence)

    def begin(self, rows: npt.NDArray[np.int32], worker: int, sequence: int) -> None:
        """Keep ``rows`` as they are; after this they may change."""
        count = rows.shape[0]
        self._rows.reserve(count)
        self._old.reserve(count)
        self._rows.array[:count] = rows
        loops.copy_out(self._memory.array, rows, self._old.array)
        head = self._head.array
        head[_WORKER], head[_SEQUENCE], head[_COUNT] = worker, sequence, count
        reach("ps.journal.kept")
        head[_MARKED] = 1
        reach("ps.journal.marked")

    def commit(self, worker: int, sequence: int) -> None:
        """The rows have changed."""
        reach("ps.journal.changed")
        self._applied.array[worker] = sequence
        reach("ps.journal.applied")
        self._head.array[_MARKED] = 0

    @property
    def num_bytes(self) -> int:
        return sum(c.num_bytes for c in (self._head, self._applied, self._rows, self._old))

    def close(self) -> None:
        for column in (self._head, self._applied, self._rows, self._old):
            column.close()
