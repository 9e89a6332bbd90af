"""The order of the hosts of a job."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.nodes import Node, in_rank_order


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
    with pytest.raises(ConfigError, match=r"10\.0\.0\.10 and 10\.0\.0\.8 were both started with --rank 1"):
        in_rank_order(nodes(1, 0, 1), sorts_hosts=False)


def test_a_node_survives_the_store():
    node = Node("10.0.0.1", 2, ("10.0.0.1:5", "10.0.0.1:6"), ("0", "1"))
    assert Node.from_json(node.to_json().encode(), "node/0") == node
