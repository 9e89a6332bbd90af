"""Samples of the neighbours of nodes."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.ops.array import graphs as ops
from argosy.tensor.engine import apply

__all__: list[str] = []


def sample_neighbors(
    row: Any,
    colptr: Any,
    input_nodes: Any,
    sample_size: int = -1,
    eids: Any = None,
    return_eids: bool = False,
    perm_buffer: Any = None,
    name: str | None = None,
) -> Any:
    """Up to ``sample_size`` neighbours of each node, all by default, and how many each has; with
    ``return_eids`` the ids of the edges too. ``perm_buffer`` only serves GPUs.

    Edges are stored by destination: ``row`` holds the sources of those into node n from
    ``colptr[n]`` to ``colptr[n + 1]``.

    Example:
        >>> import paddle
        >>> row, colptr = paddle.to_tensor([3, 7, 0, 9]), paddle.to_tensor([0, 2, 4])
        >>> found, count = paddle.geometric.sample_neighbors(row, colptr, paddle.to_tensor([1, 0]))
        >>> found.tolist(), count.tolist()
        ([0, 9, 3, 7], [2, 2])
    """
    return _sample("sample_neighbors", row, colptr, input_nodes, sample_size, eids, return_eids)


def weighted_sample_neighbors(
    row: Any,
    colptr: Any,
    edge_weight: Any,
    input_nodes: Any,
    sample_size: int = -1,
    eids: Any = None,
    return_eids: bool = False,
    name: str | None = None,
) -> Any:
    """As ``sample_neighbors``, but heavier edges are likelier."""
    return _sample(
        "weighted_sample_neighbors",
        row,
        colptr,
        input_nodes,
        sample_size,
        eids,
        return_eids,
        edge_weight,
    )


def _sample(
    call: str,
    row: Any,
    colptr: Any,
    nodes: Any,
    sample_size: int,
    eids: Any,
    return_eids: bool,
    weight: Any = None,
) -> Any:
    if return_eids and eids is None:
        raise UsageError(f"{call}: eids should not be None if return_eids is True")
    found = apply(ops.sample_neighbors, row, colptr, nodes, sample_size, eids, weight)
    return found if return_eids else found[:2]
