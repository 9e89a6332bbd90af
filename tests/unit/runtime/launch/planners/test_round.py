"""The order of hosts that have met, and the ranks that follow from it."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners.round import in_rank_order, plan
from argosy.runtime.launch.roster import RANK, Member
from argosy.runtime.launch.spec import LaunchSpec


def hosts(*asked: int) -> list[Host]:
    return [Host(f"10.0.0.{10 - i}", rank, (f"10.0.0.{10 - i}:1",)) for i, rank in enumerate(asked)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((-1, -1, -1), [0, 1, 2]),
        ((2, 0, 1), [1, 2, 0]),
        ((-1, 0, -1), [1, 0, 2]),
        ((-1, 1), [0, 1]),
        ((5, 3), [1, 0]),  # an elastic job without hosts 0, 1, 2 and 4
        ((3, -1), [1, 0]),
    ],
)
def test_hosts_have_the_numbers_they_ask_for(asked, expected):
    assert in_rank_order(hosts(*asked), sorts_hosts=False) == expected


def test_hosts_can_be_ordered_by_address():
    assert in_rank_order(hosts(-1, -1, -1), sorts_hosts=True) == [2, 1, 0]


def test_two_hosts_with_one_rank():
    with pytest.raises(
        ConfigError, match=r"10\.0\.0\.10 and 10\.0\.0\.8 were both started with --rank 1"
    ):
        in_rank_order(hosts(1, 0, 1), sorts_hosts=False)


def test_only_ipv4_addresses_are_sorted():
    with pytest.raises(
        ConfigError, match="--sort_ip sorts IPv4 addresses, but the host 'node7' has none"
    ):
        in_rank_order(
            [Host("node7", -1, ("node7:1",)), Host("10.0.0.1", -1, ("10.0.0.1:1",))],
            sorts_hosts=True,
        )


def test_ranks_follow_the_order_of_hosts():
    """The host that came last is the first by its number."""
    arrived = [
        Host("10.0.0.1", 1, ("10.0.0.1:5",), ("0",)),
        Host("10.0.0.2", 0, ("10.0.0.2:5", "10.0.0.2:6"), ("0", "1")),
    ]
    meeting = Rendezvous("10.0.0.2:9", "token")
    job = plan(LaunchSpec(script="train.py"), arrived, 0, meeting, Machine({}, 4, "/"))
    [process] = job.processes
    assert process.member == Member(RANK, 2, "10.0.0.1:5", host=1, local_rank=0, cards="0")
    assert job.title == "3 workers (1 here), 4 threads each"
    assert process.environment["PADDLE_TRAINER_ENDPOINTS"] == "10.0.0.2:5,10.0.0.2:6,10.0.0.1:5"
    assert process.environment["PADDLE_WORLD_DEVICE_IDS"] == "0,1,0"
