"""Ranks that die, leave, stay away or are interrupted: the right error on each survivor, in time,
nothing left behind.
"""

from __future__ import annotations

import itertools

import pytest

from support.pool import Died

HERE = "faults.group_workers"

_names = (f"faults-{i}" for i in itertools.count())


@pytest.mark.attack("a rank killed in or before a collective")
@pytest.mark.parametrize(
    ("kind", "world_size", "moment"),
    [
        ("shm", 3, "before"),
        ("shm", 3, "inside"),
        ("shm", 2, "recv"),
        ("shm", 2, "send"),
        ("gloo", 2, "inside"),
        ("gloo", 3, "recv"),
    ],
)
def test_a_killed_rank_is_named_within_two_seconds(
    pool, rendezvous, kind, world_size, moment, record_property
):
    victim = world_size - 1
    *survivors, dead = pool.run(
        f"{HERE}:killed",
        world_size,
        may_die=[victim],
        kind=kind,
        moment=moment,
        name=next(_names),
        rendezvous=rendezvous,
    )
    assert dead == Died(-9)
    record_property("named_s", max(late_s for _, late_s, _ in survivors))
    for rank, (message, late_s, pid) in enumerate(survivors):
        assert late_s < 2
        assert message.startswith(f"rank {rank} was in ")
        if kind == "shm":
            assert message.endswith(f" when rank {victim} (pid {pid}) exited.")


@pytest.mark.attack("a rank that stays away")
@pytest.mark.parametrize("kind", ["shm", "gloo"])
def test_a_late_rank(pool, rendezvous, kind):
    waited, came = pool.run(f"{HERE}:late", 2, kind=kind, name=next(_names), rendezvous=rendezvous)
    assert "barrier #2" in waited
    assert "1 s" in waited
    if kind == "shm":
        assert "for rank 1 (pid " in waited
        assert "gave up on the group after an error" in came


@pytest.mark.attack("a rank that leaves the group")
@pytest.mark.parametrize("kind", ["shm", "gloo"])
def test_a_rank_that_leaves(pool, rendezvous, kind):
    message, _ = pool.run(f"{HERE}:left", 2, kind=kind, name=next(_names), rendezvous=rendezvous)
    assert "rank 0 was in all_reduce #2 of group" in message
    assert "left the group" in message


@pytest.mark.attack("a rank that leaves after its part is done")
def test_a_rank_that_arrives_and_leaves_is_not_lost(pool, rendezvous):
    pool.run(f"{HERE}:arrives_and_leaves", 3, name=next(_names), rendezvous=rendezvous)


@pytest.mark.attack("Ctrl-C in a collective")
def test_an_interrupted_rank(pool, rendezvous):
    own, other = pool.run(f"{HERE}:interrupted", 2, name=next(_names), rendezvous=rendezvous)
    assert "barrier #2 was interrupted by KeyboardInterrupt()" in own
    assert "rank 0 (pid " in other
    assert "gave up on the group after an error" in other


@pytest.mark.attack("a message of another shape and dtype")
def test_a_message_of_another_kind(pool, rendezvous):
    sender, receiver = pool.run(
        f"{HERE}:wrong_message", 2, name=next(_names), rendezvous=rendezvous
    )
    assert "rank 1 expects int64[3], but rank 0 sent float32[3]" in receiver
    assert "gave up on the group" in sender


@pytest.mark.attack("a rank that never joins")
def test_a_rank_that_never_joins(pool, rendezvous):
    message, _ = pool.run(f"{HERE}:absent", 2, name=next(_names), rendezvous=rendezvous)
    assert "waited 0.3 s in joining of group" in message
    assert "rank 1 (not seen yet)" in message


@pytest.mark.attack("the process that serves the store is killed")
def test_the_store_dies_with_its_process(pool, rendezvous):
    (message, port), dead = pool.run(
        f"{HERE}:served_by_a_victim",
        2,
        may_die=[1],
        name=next(_names),
        rendezvous=rendezvous,
    )
    assert dead == Died(-9)
    assert f"the store at 127.0.0.1:{port} has gone away" in message
