"""Subgraphs around nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.ops.array import graphs as ops
from argosy.tensor.engine import apply


def graph_khop_sampler(
    row: Any,
    colptr: Any,
    input_nodes: Any,
    sample_sizes: Sequence[int],
    sorted_eids: Any = None,
    return_eids: bool = False,
    name: str | None = None,
) -> Any:
    """Sample neighbours of ``input_nodes``, then theirs, a hop for each of ``sample_sizes``.

    Returns the sources and destinations of the edges, [edges, 1], numbered inside the sample; the
    node of each such number; the numbers of ``input_nodes``; and with ``return_eids`` the ids of
    the edges. Edges are stored as for ``paddle.geometric.sample_neighbors``.
    """
    if return_eids and sorted_eids is None:
        raise UsageError(
            "graph_khop_sampler: sorted_eids should not be None if return_eids is True"
        )
    found = apply(ops.khop_sampler, row, colptr, input_nodes, list(sample_sizes), sorted_eids)
    return found if return_eids else found[:4]
