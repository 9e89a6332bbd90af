"""``fleet.layers.mpu.mp_ops``: a lookup in the part of a table that one rank holds."""

from __future__ import annotations

from typing import Any

from argosy.nn.functional import embedding
from argosy.tensor import logical_and, where, zeros_like


def _c_lookup_table(
    table: Any, index: Any, start_index: int = 0, vocab_size: int = -1, name: str | None = None
) -> Any:
    """The rows of ``table``, which has the ids from ``start_index`` on; zeros for ids of others, so
    that the sum over the ranks is the lookup in the whole table.

    ``vocab_size``, the rows of the whole table, is not needed on a CPU, as in Paddle.
    """
    local = index - start_index
    is_here = logical_and(local >= 0, local < table.shape[0])
    rows = embedding(where(is_here, local, zeros_like(local)), table)
    return rows * is_here.unsqueeze(-1).cast(table.dtype)
