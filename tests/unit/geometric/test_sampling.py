"""Samples of graphs whose edges are stored by destination."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.geometric import sample_neighbors, weighted_sample_neighbors
from paddle.incubate import graph_khop_sampler

ROW = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]
COLPTR = [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]
GRAPH = paddle.to_tensor(ROW), paddle.to_tensor(COLPTR)


def neighbours(node: int) -> set[int]:
    return set(ROW[COLPTR[node] : COLPTR[node + 1]])


def test_all_neighbours_in_order() -> None:
    found, count = sample_neighbors(*GRAPH, paddle.to_tensor([0, 7, 2]))
    assert (found.tolist(), count.tolist()) == ([3, 7, 1], [2, 0, 1])


def test_samples_are_different_neighbours() -> None:
    nodes = [0, 8, 5, 7]
    found, count, eids = sample_neighbors(
        *GRAPH,
        paddle.to_tensor(nodes),
        sample_size=1,
        eids=paddle.arange(len(ROW)) + 100,
        return_eids=True,
    )
    assert count.tolist() == [1, 1, 1, 0]
    assert [ROW[i - 100] for i in eids.tolist()] == found.tolist()
    assert all(n in neighbours(node) for n, node in zip(found.tolist(), nodes, strict=False))


def test_weights_are_probabilities() -> None:
    weight = paddle.to_tensor([1e-6 if n == 9 else 1.0 for n in ROW])
    nodes = paddle.to_tensor([1] * 50)
    found, _ = weighted_sample_neighbors(*GRAPH, weight, nodes, sample_size=1)
    assert found.tolist() == [0] * 50


def test_edge_ids_must_be_given_to_be_returned() -> None:
    with pytest.raises(ValueError, match="eids"):
        sample_neighbors(*GRAPH, paddle.to_tensor([0]), return_eids=True)
    with pytest.raises(ValueError, match="eids"):
        graph_khop_sampler(*GRAPH, paddle.to_tensor([0]), [1], return_eids=True)


def test_hops_number_their_nodes() -> None:
    given = [0, 8, 1, 2]
    edges = graph_khop_sampler(*GRAPH, paddle.to_tensor(given), [2, 2])
    sources, destinations, nodes, numbers = (t.numpy() for t in edges)
    assert sources.shape == destinations.shape == (8, 1)
    assert nodes[numbers].tolist() == nodes[:4].tolist() == given
    assert np.unique(nodes).size == nodes.size
    for source, destination in zip(sources[:, 0], destinations[:, 0], strict=True):
        assert nodes[source] in neighbours(nodes[destination])


def test_empty_graphs_are_refused() -> None:
    nothing = paddle.zeros([0], "int64")
    with pytest.raises(ValueError, match="row"):
        graph_khop_sampler(nothing, GRAPH[1], paddle.to_tensor([0]), [1])


def test_a_flag_for_a_buffer_needs_one() -> None:
    nodes = paddle.to_tensor([0])
    with pytest.raises(ValueError, match="perm_buffer"):
        paddle.incubate.graph_sample_neighbors(*GRAPH, nodes, flag_perm_buffer=True)
