"""What a server shows in the end to who looks on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.tables.sparse_table import SparseTable

__all__ = ["contents"]


def contents(tables: Tables) -> Iterator[tuple[str, Any]]:
    """Every table, values and states of the rules: rows in the order of their ids, whatever order
    they came in.
    """
    for name, entry in tables.items():
        if isinstance(entry.table, SparseTable):
            chunks = list(entry.table.snapshot())
            ids = np.concatenate([chunk.ids for chunk in chunks] or [np.empty(0, np.int64)])
            order = np.argsort(ids)
            rows = np.concatenate([chunk.rows for chunk in chunks])[order] if chunks else None
            yield f"table {name}", [ids[order], rows]
        else:
            for piece, state, part in entry.table.snapshot():
                place = f"{piece.start}" if piece.start else ""
                yield " ".join(filter(None, ("table", name, piece.name, state, place))), part
