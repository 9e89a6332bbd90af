"""The order of the hosts of a job, and what they tell each other."""

from __future__ import annotations

import json

import pytest

from argosy.foundation.errors import CommError, ConfigError
from argosy.runtime.launch.nodes import Failure, Node, WorkerStore, in_rank_order


def nodes(*asked: int) -> list[Node]:
    return [Node(f"10.0.0.{10 - i}", rank, (f"10.0.0.{10 - i}:1",)) for i, rank in enumerate(asked)]


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
def test_hosts_have_the_places_they_ask_for(asked, expected):
    assert in_rank_order(nodes(*asked), sorts_hosts=False) == expected


def test_hosts_can_be_ordered_by_address():
    assert in_rank_order(nodes(-1, -1, -1), sorts_hosts=True) == [2, 1, 0]


def test_two_hosts_with_one_rank():
    with pytest.raises(
        ConfigError, match=r"10\.0\.0\.10 and 10\.0\.0\.8 were both started with --rank 1"
    ):
        in_rank_order(nodes(1, 0, 1), sorts_hosts=False)


def test_a_node_survives_the_store():
    node = Node("10.0.0.1", 2, ("10.0.0.1:5", "10.0.0.1:6"), ("0", "1"))
    assert Node.from_json(node.to_json().encode(), "node/0") == node


NODE = {"address": "10.0.0.1", "asked_rank": -1, "endpoints": ["10.0.0.1:5"], "devices": []}
HOSTILE = {
    Node: [
        [],
        {},
        {**NODE, "more": 1},
        {**NODE, "address": 7},
        {**NODE, "address": ""},
        {**NODE, "address": "a\x1b[2J"},
        {**NODE, "address": "a b"},
        {**NODE, "asked_rank": "1"},
        {**NODE, "asked_rank": True},
        {**NODE, "asked_rank": -1.0},
        {**NODE, "asked_rank": -2},
        {**NODE, "endpoints": "10.0.0.1:5"},
        {**NODE, "endpoints": []},
        {**NODE, "endpoints": [5]},
        {**NODE, "endpoints": ["10.0.0.1"]},
        {**NODE, "endpoints": ["10.0.0.1:5,10.0.0.2:6"]},
        {**NODE, "devices": [0]},
        {**NODE, "devices": None},
    ],
    WorkerStore: [
        {},
        [],
        ["10.0.0.1:5"],
        ["10.0.0.1", "token"],
        ["10.0.0.1:5", ""],
        ["10.0.0.1:5", "a\0b"],
        [1, 2],
    ],
    Failure: [
        {},
        [1, 2, "10.0.0.1"],
        ["1", 2, "10.0.0.1", ""],
        [1, "2", "10.0.0.1", ""],
        [1, 2, 3, ""],
        [1, 2, "10.0.0.1", 4],
        [-2, 2, "10.0.0.1", ""],
        [1, 10**6, "10.0.0.1", ""],
        [1, 2, "10.0.0.1", "\x1b[2J"],
    ],
}


@pytest.mark.attack("what another launcher has stored has another form")
@pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: kind.__name__)
def test_what_others_have_stored_is_read_strictly(kind):
    for value in [
        *(json.dumps(value).encode() for value in HOSTILE[kind]),
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
    ]:
        with pytest.raises(CommError, match="under the key 'where it lies'; it is refused"):
            kind.from_json(value, "where it lies")


@pytest.mark.parametrize(
    "record",
    [WorkerStore("[::1]:5", "0" * 32), Failure(3, -9, "10.0.0.1"), Failure(-1, 1, "a", "b c")],
)
def test_records_survive_the_store(record):
    assert type(record).from_json(record.to_json().encode(), "key") == record


def test_only_ipv4_addresses_are_sorted():
    with pytest.raises(
        ConfigError, match="--sort_ip sorts IPv4 addresses, but the host 'node7' has none"
    ):
        in_rank_order(
            [Node("node7", -1, ("node7:1",)), Node("10.0.0.1", -1, ("10.0.0.1:1",))],
            sorts_hosts=True,
        )
