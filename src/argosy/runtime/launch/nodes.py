"""The hosts of a job and their order. Pure."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from argosy.foundation.errors import ConfigError


@dataclass(frozen=True)
class Node:
    """What one host brings to a round. ``asked_rank`` is its ``--rank``, -1 without one."""

    address: str
    asked_rank: int
    endpoints: tuple[str, ...]
    devices: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> Node:
        fields = json.loads(text)
        return cls(fields["address"], fields["asked_rank"], tuple(fields["endpoints"]), tuple(fields["devices"]))


def in_rank_order(nodes: Sequence[Node], sorts_hosts: bool) -> list[int]:
    """The hosts, by their index in order of arrival, in the order of their ranks: those that asked for a place have it, the others fill the gaps.

    Elastic jobs may lack some of the places asked for; the order is kept then.
    """
    asked = [node.asked_rank for node in nodes if node.asked_rank >= 0]
    repeated = next((rank for rank in asked if asked.count(rank) > 1), None)
    if repeated is not None:
        both = " and ".join(node.address for node in nodes if node.asked_rank == repeated)
        raise ConfigError(f"launch: {both} were both started with --rank {repeated}")
    arrival = list(range(len(nodes)))
    if sorts_hosts:
        arrival.sort(key=lambda i: socket.inet_aton(nodes[i].address))
    waiting = [i for i in arrival if nodes[i].asked_rank < 0]
    seated = {nodes[i].asked_rank: i for i in arrival if nodes[i].asked_rank >= 0}
    for place in range(len(nodes)):
        if place not in seated and waiting:
            seated[place] = waiting.pop(0)
    return [seated[place] for place in sorted(seated)]
