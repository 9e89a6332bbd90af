"""Sessions and several groups: forked children, groups used in different orders, ranks that come
again; nothing waits in vain, nothing is left behind.
"""

from __future__ import annotations

import pytest

from argosy.foundation.endpoints import bind_listener
from support.job import run_job
from support.pool import Died

HERE = "faults.session_workers"
PATIENCE_S = 90.0  # new workers import torch, on a machine that may be busy


def run(pool, what, world_size, **kwargs):
    return run_job(pool, f"{HERE}:{what}", world_size, deadline_s=PATIENCE_S, **kwargs)


def named(record_property, answers):
    """The messages of ranks that return a message and the seconds until it came; five seconds are
    too many.
    """
    slowest_s = max(named_s for _, named_s in answers)
    record_property("named_s", slowest_s)
    assert slowest_s < 5
    return [message for message, _ in answers]


@pytest.mark.attack("a child forked from a rank calls collectives")
@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("gloo", 2), ("shm", 3)])
def test_a_forked_child(pool, record_property, backend, world_size):
    found, named_s = run(pool, "forked", world_size, backend=backend)[1]
    record_property("named_s", named_s)
    for name, message in found.items():
        assert message.startswith("UsageError: "), (name, message)
        assert "this process was forked from rank 1" in message, (name, message)
    assert found["all_reduce"].startswith("UsageError: all_reduce: ")
    assert "is not a member of group 'world'" in found["all_reduce"]
    assert "is not a member of group 'group 1'" in found["pair"]
    assert found["new_group"].startswith("UsageError: new_group: ")


@pytest.mark.attack("a child forked from a rank of a group over hosts")
def test_a_child_of_a_group_over_hosts(pool, rendezvous):
    answers = pool.run(
        f"{HERE}:forked_from_a_host",
        3,
        deadline_s=PATIENCE_S,
        name="forked-hosts",
        rendezvous=rendezvous,
    )
    lines = [line for line in answers[1].splitlines() if line.startswith("UsageError: ")]
    assert [line.split(": ")[1] for line in lines] == [
        "barrier",
        "backward of DataParallel",
        "send",
    ]


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_workers_of_a_data_loader_work_as_ever(pool, backend):
    run(pool, "data_loader", 2, backend=backend)


@pytest.mark.attack("a rank dies while its forked child lives on")
@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_a_death_behind_a_child(pool, record_property, backend):
    (message, named_s), dead = run(pool, "death_behind_a_child", 2, may_die=[1], backend=backend)
    record_property("named_s", named_s)
    assert dead == Died(-9)
    assert "rank 0 was in all_reduce" in message
    assert named_s < 2.5


@pytest.mark.attack("two groups used in opposite order")
@pytest.mark.parametrize("backend", ["shm", "gloo", "hosts ab"])
def test_opposite_order(pool, record_property, backend):
    for rank, message in enumerate(
        named(record_property, run(pool, "opposite_order", 2, backend=backend))
    ):
        assert f"rank {rank} is in all_reduce #2 of group 'group {rank + 1}-{rank + 1}'" in message
        assert f"waits for rank {1 - rank} (pid " in message
        assert (
            f"which waits for rank {rank} in all_reduce #2 of group 'group {2 - rank}-{2 - rank}'"
            in message
        )


@pytest.mark.attack("three ranks wait for each other in a circle of groups")
@pytest.mark.parametrize("backend", ["shm", "gloo", "hosts aab", "hosts abc"])
def test_a_circle_of_three(pool, record_property, backend):
    for rank, message in enumerate(named(record_property, run(pool, "circle", 3, backend=backend))):
        places = [
            message.index(f"barrier #1 of group 'group {(rank + i) % 3 + 1}-") for i in range(3)
        ]
        assert places == sorted(places)


@pytest.mark.attack("new_group is called by one rank only")
@pytest.mark.parametrize("backend", ["shm", "gloo", "hosts ab"])
def test_new_group_on_one_rank(pool, record_property, backend):
    for rank, message in enumerate(
        named(record_property, run(pool, "lonely_new_group", 2, backend=backend))
    ):
        assert f"rank {rank} is in " in message
        assert "new_group #1 (ranks [0, 1])" in message
        assert "barrier #1 of group 'world'" in message


def test_what_a_queue_will_do_is_not_waited_for_in_vain(pool):
    run(pool, "queue_is_no_circle", 2, backend="shm")


@pytest.mark.attack("ranks make different groups")
def test_different_groups(pool):
    first, second, _ = run(pool, "different_groups", 3)
    for message in (first, second):
        assert "ranks make different groups" in message
        assert "ranks [0, 1], backend 'shm'" in message
        assert "ranks [0, 1, 2], backend 'shm'" in message


@pytest.mark.attack("ranks are told different backends")
def test_different_backends(pool):
    for message in run(pool, "different_backends", 2):
        assert "joining group 'world'" in message
        assert "backend 'shm'" in message
        assert "backend 'gloo'" in message


@pytest.mark.attack("a rank is gone while another makes a group with it")
@pytest.mark.parametrize("way", ["dies", "leaves"])
def test_gone_during_new_group(pool, tmp_path, record_property, way):
    (message, named_s), _ = run(
        pool,
        "gone_from_new_group",
        2,
        may_die=[1],
        backend="shm",
        way=way,
        note=str(tmp_path / "note"),
    )
    record_property("named_s", named_s)
    assert "rank 0 was in new_group #1 (ranks [0, 1]) when rank 1 (pid " in message
    assert {"dies": "exited", "leaves": "left the job"}[way] in message
    assert named_s < 2


@pytest.mark.parametrize(("backend", "world_size"), [("shm", 2), ("gloo", 2)])
@pytest.mark.parametrize("is_served", [True, False], ids=["launcher", "by-hand"])
@pytest.mark.attack("leave the job and join it again, three times")
def test_join_leave_and_join_again(pool, backend, world_size, is_served):
    listener = bind_listener()
    port = listener.getsockname()[1]
    listener.close()
    served = {} if is_served else {"port": port}
    for left in run(pool, "cycles", world_size, backend=backend, is_served=is_served, **served):
        first, *others = left
        assert others == [first] * 3  # the first time loads what stays


@pytest.mark.attack("one rank joins again, another has ended")
def test_one_session_too_many(pool, record_property):
    (message, named_s), _ = run(pool, "one_session_too_many", 2, may_die=[1])
    record_property("named_s", named_s)
    assert "joining the job, for the 2nd time in its store" in message
    assert "rank 1 (pid " in message
    assert "exited" in message
    assert named_s < 5
