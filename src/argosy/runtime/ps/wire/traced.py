"""What traces show of a request, on either side of the wire."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from argosy.foundation.trace import trace


def tell(
    op: str, tables: str | Iterable[str], batches: Iterable[pa.RecordBatch | None], began_ns: int
) -> None:
    """Have it known that a request was answered; called only while somebody records."""
    known = [batch for batch in batches if batch is not None]
    names = tables if isinstance(tables, str) else ", ".join(tables)
    about = {"rows": sum(map(_num_ids, known)), "bytes": sum(batch.nbytes for batch in known)}
    trace.add(f"{op} {names}".rstrip(), "server", began_ns, about)


def _num_ids(batch: pa.RecordBatch) -> int:
    """How many rows of tables a request is about: it has their ids in columns, or in lists."""
    flat = [c.flatten() if pa.types.is_list(c.type) else c for c in batch.columns]
    return sum(len(column) for column in flat if column.type == pa.int64())
