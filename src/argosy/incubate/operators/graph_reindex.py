"""The nodes of a sample, under the name that ``paddle.geometric.reindex_graph`` had before."""

from __future__ import annotations

from typing import Any

from argosy.geometric import reindex_graph


def graph_reindex(
    x: Any,
    neighbors: Any,
    count: Any,
    value_buffer: Any = None,
    index_buffer: Any = None,
    flag_buffer_hashtable: bool = False,
    name: str | None = None,
) -> Any:
    """As ``paddle.geometric.reindex_graph``; the buffers only serve GPUs."""
    return reindex_graph(x, neighbors, count)
