"""Neighbours of nodes, under the name that ``paddle.geometric.sample_neighbors`` had before."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.geometric import sample_neighbors


def graph_sample_neighbors(
    row: Any,
    colptr: Any,
    input_nodes: Any,
    eids: Any = None,
    perm_buffer: Any = None,
    sample_size: int = -1,
    return_eids: bool = False,
    flag_perm_buffer: bool = False,
    name: str | None = None,
) -> Any:
    """As ``paddle.geometric.sample_neighbors``; both buffers only serve GPUs."""
    if flag_perm_buffer and perm_buffer is None:
        raise UsageError("graph_sample_neighbors: flag_perm_buffer=True needs a perm_buffer")
    return sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)
