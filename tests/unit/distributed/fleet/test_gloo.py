"""Numbers exchanged by processes that meet in a folder."""

from __future__ import annotations

import threading

import pytest

from argosy.foundation.errors import ConfigError, NotSupported
from paddle.fluid import core


def joined(rank, size, folder):
    gloo = core.Gloo()
    gloo.set_rank(rank)
    gloo.set_size(size)
    gloo.set_prefix("numbers")
    gloo.set_iface("lo")
    gloo.set_timeout_seconds(60, 60)
    gloo.set_hdfs_store(str(folder), "", "")
    gloo.init()
    return gloo


def test_one_process_gets_its_own_numbers_back(tmp_path):
    gloo = joined(0, 1, tmp_path)
    assert (gloo.rank(), gloo.size()) == (0, 1)
    assert gloo.all_reduce([1, 2], "max") == [1, 2]
    assert gloo.all_gather(3) == [3]
    gloo.barrier()


def test_two_meet_in_a_folder(tmp_path):
    found = {}

    def take_part(rank):
        gloo = joined(rank, 2, tmp_path / "new")
        gloo.barrier()
        found[rank] = (
            gloo.all_reduce([rank, 10 * rank], "sum"),
            gloo.all_reduce([0.5 + rank], "min"),
            gloo.all_gather(rank),
        )

    threads = [threading.Thread(target=take_part, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {rank: ([1, 10], [0.5], [0, 1]) for rank in range(2)}


def test_what_is_refused(tmp_path):
    gloo = core.Gloo()
    with pytest.raises(ConfigError, match="call init"):
        gloo.barrier()
    gloo.set_size(2)
    with pytest.raises(ConfigError, match="set_hdfs_store"):
        gloo.init()
    for call in (
        lambda: gloo.set_hdfs_store("/x", "hdfs://a", "user"),
        lambda: gloo.set_http_store("127.0.0.1", 80, "worker"),
        lambda: gloo.set_iface("eth7"),
    ):
        with pytest.raises(NotSupported):
            call()
    with pytest.raises(ValueError, match="'mean'"):
        joined(0, 1, tmp_path).all_reduce([1], "mean")
