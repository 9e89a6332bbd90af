"""Properties of the split of dense parameters and of ids over servers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from argosy.runtime.ps.tables.hashing import server_of, shards_of, split_by_server
from argosy.runtime.ps.worker.placement import place_dense

shapes = st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), max_size=6).map(
    lambda sizes: {f"p{i}": size for i, size in enumerate(sizes)}
)
servers = st.integers(1, 7)
many_ids = arrays.arrays(np.int64, st.integers(0, 50))


def pieces_of(specs):
    return [(piece.name, piece.start, piece.stop) for spec in specs for piece in spec.pieces]


@given(shapes, servers, st.booleans(), st.booleans())
def test_every_number_is_on_one_server_in_the_order_of_the_parameters(
    shapes, num_servers, keeps_whole, is_together
):
    specs = place_dense(
        "dense", shapes, num_servers, keeps_whole=keeps_whole, is_together=is_together
    )
    assert len(specs) == num_servers
    found = [(name, i) for name, start, stop in pieces_of(specs) for i in range(start, stop)]
    assert found == [(name, i) for name, shape in shapes.items() for i in range(math.prod(shape))]


@given(shapes, servers)
def test_servers_hold_equally_much(shapes, num_servers):
    specs = place_dense("dense", shapes, num_servers)
    sizes = [sum(p.stop - p.start for p in spec.pieces) for spec in specs]
    assert max(sizes) - min(sizes) <= 1


@given(shapes, servers)
def test_parameters_are_not_cut_where_they_must_be_whole(shapes, num_servers):
    for name, start, stop in pieces_of(place_dense("d", shapes, num_servers, keeps_whole=True)):
        assert (start, stop) == (0, math.prod(shapes[name]))


@given(shapes, servers)
def test_the_first_server_has_everything_that_must_be_together(shapes, num_servers):
    _, *others = place_dense("dense", shapes, num_servers, is_together=True)
    assert pieces_of(others) == []


@given(many_ids, servers)
def test_every_id_goes_to_the_server_of_its_shard_in_its_turn(ids, num_servers):
    order, starts = split_by_server(ids, num_servers)
    assert sorted(order) == list(range(len(ids)))
    home = server_of(shards_of(ids), num_servers)
    for server in range(num_servers):
        part = order[starts[server] : starts[server + 1]]
        assert list(part) == sorted(part)
        assert (home[part] == server).all()


@given(many_ids, servers)
def test_the_home_of_an_id_depends_on_nothing_else(ids, num_servers):
    together = server_of(shards_of(ids), num_servers)
    alone = [server_of(shards_of(ids[i : i + 1]), num_servers)[0] for i in range(len(ids))]
    assert together.tolist() == alone
