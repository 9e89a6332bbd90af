"""The calendar of a table that keeps shows and clicks.

Days pass a chunk of rows at a time, each chunk through the journal, so that a killed server goes on
where it was: no row grows older twice. The journal's entries of two numbers that no worker has hold
the state: ``DAY`` the day and how many of its chunks are done, ``PASSED`` how many days that day is
after the one before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from argosy.runtime.ps.tables.journal import DAY, PASSED, Journal

CHUNK_ROWS = 1 << 16
_CHUNKS = 1 << 24  # more than a table can have
_OVER = _CHUNKS - 1

Fade = Callable[[npt.NDArray[np.int32], int], None]


def turn_to(journal: Journal, day: int | None, num_rows: int, fade: Fade) -> None:
    """Make ``day``, a count of days, the current one (None: the next), unless it is past.
    ``fade(rows, days)`` lets days pass for rows.

    The first day that is ever named has no day before it: nothing fades.
    """
    current, chunk = divmod(journal.applied(DAY), _CHUNKS)
    if current and chunk != _OVER:  # a server was killed here
        _pass(journal, current, chunk, num_rows, fade)
    if day is None:
        day, current = current + 1 if current else 2, current or 1
    if current and day > current:
        journal.note(PASSED, day - current)
        journal.note(DAY, day * _CHUNKS)
        _pass(journal, day, 0, num_rows, fade)
    elif not current:
        journal.note(DAY, day * _CHUNKS + _OVER)


def _pass(journal: Journal, day: int, chunk: int, num_rows: int, fade: Fade) -> None:
    passed = journal.applied(PASSED)
    for start in range(chunk * CHUNK_ROWS, num_rows, CHUNK_ROWS):
        rows = np.arange(start, min(start + CHUNK_ROWS, num_rows), dtype=np.int32)
        chunk += 1
        with journal.changing(rows, DAY, day * _CHUNKS + chunk):
            fade(rows, passed)
    journal.note(DAY, day * _CHUNKS + _OVER)
