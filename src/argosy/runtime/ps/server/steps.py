"""The steps of a worker: what it pushes to all its tables is one request, and what it needs of them
for its next step is the answer.

Each table knows a push by its number and applies it wholly or not at all, so a step that is sent
again after a server was killed changes the tables that it had not reached, and no other. In
``sync`` a part is handed in at every table before the first is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from argosy.foundation.errors import UsageError
from argosy.runtime.ps.server.tables import Entry, Push
from argosy.runtime.ps.tables.dense_table import DenseTable
from argosy.runtime.ps.wire import messages

_ID, _NUMBER = pa.int64(), pa.float32()


def push_step(pushes: Sequence[tuple[Entry, Push]], worker: int, timeout_s: float) -> list[bool]:
    """Push to all tables; for each whether that had not happened before. ``timeout_s`` is how long
    other workers may take.
    """
    for entry, push in pushes:
        entry.check(push, worker)
    waits = [entry.hand_in(push, worker) for entry, push in pushes]
    return [wait(timeout_s) for wait in waits]


class Steps:
    """Answers the steps that ``worker`` makes with the tables ``entries``."""

    def __init__(self, entries: Sequence[Entry], worker: int, timeout_s: float) -> None:
        if not entries or len({id(entry) for entry in entries}) < len(entries):
            raise UsageError("a step must name tables, each of them once")
        self._entries = entries
        self._worker = worker
        self._timeout_s = timeout_s
        schemas = [
            messages.FLAT
            if isinstance(entry.table, DenseTable)
            else messages.rows_schema(entry.sparse.spec.dim)
            for entry in entries
            if _is_answered(entry)
        ]
        self.schema = messages.listing(schemas)

    def answer(self, batch: Any, data: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Apply a step; what comes back, if anything does, and what was new."""
        pushes = self._decoded(batch, data)
        done = push_step(
            list(zip(self._entries, pushes, strict=True)), self._worker, self._timeout_s
        )
        columns = [c for entry in self._entries if _is_answered(entry) for c in self._fresh(entry)]
        found = messages.in_one_row(columns, self.schema) if columns else None
        return found, {"done": done}

    def _decoded(self, batch: Any, data: dict[str, Any]) -> list[Push]:
        headers = messages.push_headers(data, len(self._entries))
        columns, pushes, at = messages.lists(batch), [], 0
        for entry, (sequence, rate) in zip(self._entries, headers, strict=True):
            if isinstance(entry.table, DenseTable):
                # a copy, for torch: the memory of a message is read-only
                grads = np.array(messages.asked(columns, at, _NUMBER))
                pushes.append(Push(sequence, grads, rate))
                at += 1
                continue
            ids, rows = messages.asked(columns, at, _ID), messages.asked_rows(columns, at + 1)
            at += 2
            counts: list[Any] = [None, None]
            if entry.sparse.spec.show_click is not None:
                counts = [messages.asked(columns, i, _NUMBER) for i in (at, at + 1)]
                at += 2
            pushes.append(Push(sequence, rows, rate, ids, *counts))
        if at != len(columns):
            raise UsageError(f"this step has {len(columns)} columns, but its tables take {at}")
        return pushes

    def _fresh(self, entry: Entry) -> list[pa.Array]:
        if isinstance(entry.table, DenseTable):
            return [pa.array(entry.table.pull())]
        ids = entry.changed_by_others(self._worker)
        return [pa.array(ids), messages.rows_array(entry.pull(ids, True))]


def _is_answered(entry: Entry) -> bool:
    """Whether a worker gets something back from this table in every step."""
    return isinstance(entry.table, DenseTable) or entry.mode == "geo"
