"""Who runs where when the hosts of a parameter-server job have met."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.planners.server_hosts import are_all_there, place
from argosy.runtime.launch.roster import SERVER, WORKER
from argosy.runtime.launch.servers.host import MADE, ServerHost
from argosy.runtime.launch.servers.spec import PsSpec

WHERE = Rendezvous("10.0.0.1:9", "token")
COUNTED = PsSpec()


def host(number, servers=0, workers=0, rank=-1, **fields):
    address = f"10.0.0.{number}"
    return ServerHost(
        address=address,
        asked_rank=rank,
        num_hosts=3,
        servers=tuple(f"{address}:{10 + n}" for n in range(servers)),
        workers=tuple(f"{address}:{20 + n}" for n in range(workers)),
        **fields,
    )


def places(roster):
    """(host, local rank, endpoint) of each member, by role."""
    return {
        role: [(m.host, m.local_rank, m.endpoint) for m in roster.members if m.role == role]
        for role in (SERVER, WORKER)
    }


def test_hosts_are_numbered_as_they_ask_else_as_they_come():
    hosts = [host(1, 0, 2), host(2, 2, 0, rank=0), host(3, 1, 1)]
    roster = place(hosts, 2, COUNTED, WHERE)
    assert places(roster) == {
        SERVER: [(1, 0, "10.0.0.2:10"), (1, 1, "10.0.0.2:11"), (2, 0, "10.0.0.3:10")],
        WORKER: [(0, 0, "10.0.0.1:20"), (0, 1, "10.0.0.1:21"), (2, 0, "10.0.0.3:20")],
    }
    assert [m.rank for m in roster.members] == [0, 1, 2, 0, 1, 2]
    assert [m.label for m in roster.here] == ["server 2", "worker 2"]
    assert roster.num_hosts == 3
    sorted_too = place([hosts[2], hosts[0], host(2, 2, 0)], 0, COUNTED, WHERE, sorts_hosts=True)
    assert [m.endpoint for m in sorted_too.members if m.role == WORKER] == [
        "10.0.0.1:20", "10.0.0.1:21", "10.0.0.3:20",
    ]  # fmt: skip


def test_as_many_hosts_are_waited_for_as_were_asked_for():
    assert not are_all_there([host(1, 1), host(2, 9, 9)], COUNTED, 3)
    assert are_all_there([host(1, 1), host(2, 1), host(3, 1)], COUNTED, 3)


LISTED = PsSpec(
    servers=("10.0.0.1:10", "10.0.0.2:10"), workers=("10.0.0.2", "10.0.0.1:20", "10.0.0.2")
)


def listing(number, servers, workers):
    return ServerHost(address=f"10.0.0.{number}", servers=servers, workers=workers)


def test_who_is_listed_is_numbered_as_listed():
    """Workers may share an endpoint without a port."""
    first = listing(1, ("10.0.0.1:10",), ("10.0.0.1:20",))
    second = listing(2, ("10.0.0.2:10",), ("10.0.0.2:0", "10.0.0.2:0"))
    assert not are_all_there([second], LISTED, 0)
    assert are_all_there([second, first], LISTED, 0)
    roster = place([second, first], 0, LISTED, WHERE)
    assert places(roster) == {
        SERVER: [(1, 0, "10.0.0.1:10"), (0, 0, "10.0.0.2:10")],
        WORKER: [(0, 0, "10.0.0.2:0"), (1, 0, "10.0.0.1:20"), (0, 1, "10.0.0.2:0")],
    }


@pytest.mark.parametrize(
    ("hosts", "ps", "message"),
    [
        ([host(1, 1), host(2, 1)], COUNTED, "none of the hosts 10.0.0.1, 10.0.0.2 has a worker"),
        ([host(1, 0, 1), host(2, 0, 1)], COUNTED, "has a server; .* --server_num"),
        ([host(1, 1, 1), host(1, 1, 1)], COUNTED, "two hosts say that 10.0.0.1:10 is theirs"),
        ([host(1, 1, 1, rank=1), host(2, 1, 1, rank=1)], COUNTED, "both started with --rank 1"),
        (
            [host(1, 1, 1), host(2, 0, 1, tls=MADE)],
            COUNTED,
            r"10.0.0.1 talk in the clear \(--tls false\), those of 10.0.0.2 by TLS",
        ),
        (
            [host(1, 1, 1), ServerHost(address="b", num_hosts=2, workers=("b:1",))],
            COUNTED,
            "10.0.0.1 was started with --nnodes 3, b with 2",
        ),
        (
            [listing(1, ("10.0.0.1:10", "10.0.0.2:10"), ("10.0.0.9:0",) * 3)],
            LISTED,
            "worker 0 at 10.0.0.2:0 is listed, but is not of any host",
        ),
        (
            [
                listing(1, ("10.0.0.1:10",), ("10.0.0.1:20",)),
                listing(2, ("10.0.0.2:10", "10.0.0.1:10"), ("10.0.0.2:0", "10.0.0.2:0")),
            ],
            LISTED,
            "10.0.0.2 says that server 10.0.0.1:10 is its own",
        ),
    ],
    ids=range(8),
)
def test_hosts_that_do_not_fit_are_named(hosts, ps, message):
    with pytest.raises(ConfigError, match=message):
        place(hosts, 0, ps, WHERE)
