"""Sampling from graphs whose edges are stored by their destinations: those of node n are numbers
``colptr[n]`` to ``colptr[n + 1]``, and ``row`` holds the node from which each comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows


@op("graph_sample_neighbors", is_random=True, rows=Rows.OTHER)
def sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    nodes: Tensor,
    sample_size: int,
    eids: Tensor | None = None,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Up to ``sample_size`` different edges into each node, all if it is negative: where they come
    from, how many each node has, and their ``eids``, without which their numbers.

    With ``weight`` an edge is the likelier the heavier it is.
    """
    if row.is_meta:
        return torch.empty_like(row), torch.empty_like(nodes.flatten()), torch.empty_like(row)
    chosen, counts = _sampled(colptr.flatten(), nodes.flatten(), sample_size, weight)
    numbers = chosen.to(row.dtype) if eids is None else eids.flatten()[chosen]
    return row.flatten()[chosen], counts.to(nodes.dtype), numbers


@op("graph_khop_sampler", is_random=True, rows=Rows.OTHER)
def khop_sampler(
    row: Tensor,
    colptr: Tensor,
    nodes: Tensor,
    sample_sizes: Sequence[int],
    eids: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The subgraph that ``nodes`` reach in as many hops as there are ``sample_sizes``: sources and
    destinations of its edges in its own numbers, as columns; the node that each of these numbers
    stands for, those given first; the numbers of the given nodes; and the ``eids`` of its edges.
    """
    for name, tensor in (("row", row), ("colptr", colptr), ("input_nodes", nodes)):
        if tensor.numel() == 0:
            raise UsageError(f"(InvalidArgument) graph_khop_sampler: {name} must not be empty")
    given = nodes.flatten()
    if row.is_meta:
        edges = row.new_empty((row.numel(), 1))
        return edges, edges.clone(), row.new_empty(colptr.numel()), given.clone(), edges.clone()
    heads, pointers = row.flatten(), colptr.flatten()
    known = frontier = _in_order(given)
    chosen, ends = [], []
    for size in sample_sizes:
        edges, counts = _sampled(pointers, frontier, size, None)
        chosen.append(edges)
        ends.append(frontier.repeat_interleave(counts))
        frontier = _in_order(heads[edges])
        frontier = frontier[~torch.isin(frontier, known)]
        known = torch.cat([known, frontier])
    numbers = torch.cat(chosen)
    index = torch.empty(pointers.numel(), dtype=row.dtype)
    index[known] = torch.arange(known.numel(), dtype=row.dtype)
    kept = numbers.to(row.dtype) if eids is None else eids.flatten()[numbers]
    sources, destinations = index[heads[numbers]], index[torch.cat(ends)]
    return sources[:, None], destinations[:, None], known, index[given], kept[:, None]


def _in_order(nodes: Tensor) -> Tensor:
    """The different nodes in the order in which they come first."""
    found, inverse = torch.unique(nodes, return_inverse=True)
    first = torch.full((found.numel(),), nodes.numel(), dtype=torch.int64)
    first.scatter_reduce_(0, inverse, torch.arange(nodes.numel()), "amin")
    return nodes[torch.sort(first).values]


def _sampled(
    pointers: Tensor, nodes: Tensor, size: int, weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Numbers of edges, in ascending order for each node, and how many each node has.

    The edges with the least draws of exponential distributions are a sample without replacement,
    weighted by their rates.
    """
    nodes = nodes.long()
    starts, all_counts = pointers[nodes].long(), (pointers[nodes + 1] - pointers[nodes]).long()
    owners = torch.arange(nodes.numel()).repeat_interleave(all_counts)
    before = torch.cumsum(all_counts, 0) - all_counts
    edges = torch.arange(owners.numel()) - before[owners] + starts[owners]
    if size < 0 or edges.numel() == 0 or int(all_counts.max()) <= size:
        return edges, all_counts
    draws = torch.empty(edges.numel()).exponential_()
    if weight is not None:
        draws /= weight.flatten()[edges]
    order = torch.argsort(draws)
    order = order[torch.argsort(owners[order], stable=True)]
    ranks = torch.arange(order.numel()) - before[owners[order]]
    kept = torch.sort(order[ranks < size]).values
    return edges[kept], all_counts.clamp(max=size)
