import numpy as np
import pytest

from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.tables.index import Index


def test_growth_keeps_every_id():
    """Far beyond the first size, in batches, with ids that repeat inside a batch and across the
    moving of entries.
    """
    rng = np.random.default_rng(0)
    column = np.zeros(200_000, np.int64)
    index, row_by_id = Index(column), {}
    for _ in range(60):
        ids = rng.integers(-30_000, 30_000, 3000)
        rows, fresh = index.find_or_add(ids)
        assert len(set(fresh.tolist())) == len(fresh)
        for i, row in zip(ids.tolist(), rows.tolist(), strict=True):
            assert row_by_id.setdefault(i, row) == row
        assert len(index) == len(row_by_id)
    assert (column[rows] == ids).all()
    every = np.array(list(row_by_id), np.int64)
    assert (index.find(every) == np.array(list(row_by_id.values()))).all()
    assert (index.find(np.array([30_001, -30_001])) == -1).all()


def test_free_rows_are_used_first():
    column = np.zeros(100, np.int64)
    index = Index(column)
    index.find_or_add(np.arange(10))
    used = np.ones(100, np.uint8)
    used[[2, 5]] = 0
    index.rebuild(used, 10)
    assert len(index) == 8
    _, fresh = index.find_or_add(np.array([50, 51, 52]))
    assert sorted(fresh.tolist()) == [2, 5, 10]
    assert index.end == 11
    assert index.find(np.array([2, 3])).tolist() == [-1, 3]


@pytest.mark.parametrize("num_servers", [1, 2, 3, 7])
def test_ids_are_spread_over_servers(num_servers):
    ids = np.arange(20_000) * 8
    order, starts = hashing.split_by_server(ids, num_servers)
    servers = hashing.server_of(hashing.shards_of(ids), num_servers)
    assert sorted(order.tolist()) == list(range(len(ids)))
    for s in range(num_servers):
        part = order[starts[s] : starts[s + 1]]
        assert (servers[part] == s).all()
        assert (np.diff(part) > 0).all()
        assert len(part) == pytest.approx(len(ids) / num_servers, rel=0.06)


def test_another_number_of_servers_moves_whole_shards():
    ids = np.arange(50_000)
    shards = hashing.shards_of(ids)
    for n in (2, 3):
        servers = hashing.server_of(shards, n)
        for shard in (0, 1000, 4095):
            assert len(set(servers[shards == shard].tolist())) <= 1
