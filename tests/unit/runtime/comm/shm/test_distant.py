"""Waits between hosts: who is found in a circle, and who is not. The ranks are in one process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch.distributed as dist

from argosy.foundation.errors import CommError
from argosy.runtime.comm.backends.shm import distant as distant_module
from argosy.runtime.comm.backends.shm.distant import Distant, DistantWait


@pytest.fixture
def ranks(monkeypatch):
    """Three ranks of three hosts, which may look whenever they like."""
    monkeypatch.setattr(distant_module, "FIRST_S", 0.0)
    store = dist.HashStore()
    return [Distant(store, rank) for rank in range(3)]


def wait_of(distant, number=1):
    return DistantWait(distant, number, f"place {distant.rank}", f"pid {100 + distant.rank}")


def looks(waits_and_missing, rounds=6):
    """Let the ranks look in turns; returns the circles by rank."""
    found = {}
    for _ in range(rounds):
        for rank, (wait, missing) in enumerate(waits_and_missing):
            circle = wait.look(missing) if rank not in found else None
            if circle is not None:
                found[rank] = [row.rank for row in circle]
    return found


def test_every_member_of_a_circle_is_told(ranks):
    found = looks([(wait_of(rank), [(rank.rank + 1) % 3]) for rank in ranks])
    assert sorted(found) == [0, 1, 2]
    assert all(sorted(circle) == [0, 1, 2] for circle in found.values())


def test_members_know_each_others_places(ranks):
    waits = [wait_of(ranks[0]), wait_of(ranks[1])]
    circles = [
        wait.look([other]) for _ in range(4) for wait, other in zip(waits, (1, 0), strict=True)
    ]
    rows = next(circle for circle in circles if circle)
    assert {(row.text, row.who.split(" on ")[0]) for row in rows} == {
        ("place 0", "pid 100"),
        ("place 1", "pid 101"),
    }


def test_a_chain_is_no_circle(ranks):
    assert looks([(wait_of(ranks[0]), [1]), (wait_of(ranks[1]), [2])]) == {}


def test_who_does_not_look_again_is_not_accused(ranks):
    stopped = wait_of(ranks[1])
    assert stopped.look([0]) is None
    assert looks([(wait_of(ranks[0]), [1])], rounds=20) == {}


def test_a_wait_that_has_ended_is_in_no_circle(ranks):
    waits = [wait_of(ranks[0]), wait_of(ranks[1])]
    waits[0].look([1])
    waits[1].look([0])
    waits[1].end()
    assert ranks[0].rows([0, 1]).keys() == {0}


def test_a_verdict_is_for_one_wait(ranks):
    looks([(wait_of(rank), [(rank.rank + 1) % 3]) for rank in ranks])
    assert ranks[0].verdict(1) is not None
    assert ranks[0].verdict(2) is None


def test_what_is_on_its_way_keeps_a_wait_from_being_shown(ranks):
    """Else two ranks were accused of which one has answered the other already."""
    link = SimpleNamespace(is_flushed=False)

    class Link:
        @property
        def is_flushed(self):
            return link.is_flushed

    own = Link()
    ranks[1].watch(own)
    waits = [(wait_of(ranks[0]), [1]), (wait_of(ranks[1]), [0])]
    assert looks(waits, rounds=20) == {}
    link.is_flushed = True
    assert sorted(looks(waits)) == [0, 1]


def test_a_store_that_has_gone_harms_nothing(ranks):
    class Gone:
        def __getattr__(self, name):
            raise CommError("it has gone away")

    ranks[0]._store = Gone()
    wait = wait_of(ranks[0])
    assert [wait.look([1]) for _ in range(3)] == [None] * 3
    wait.end()
    assert ranks[0].is_lost
