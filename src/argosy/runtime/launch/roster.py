"""Which processes of a job run where, and where they meet. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argosy.runtime.launch.hosts import Host, Rendezvous

RANK = "rank"  # a process of a collective job
SERVER, WORKER = "server", "worker"  # of a parameter-server job


@dataclass(frozen=True)
class Member:
    """One process of a job, on whatever host. ``rank`` counts those of its role, ``local_rank``
    those of its role on its host.
    """

    role: str
    rank: int
    endpoint: str = ""
    host: int = 0
    local_rank: int = 0
    cards: str = ""

    @property
    def label(self) -> str:
        return f"{self.role} {self.rank}"


@dataclass(frozen=True)
class Roster:
    """All members of a job, by role in the order of their ranks."""

    members: tuple[Member, ...]
    rendezvous: Rendezvous
    this_host: int = 0

    @property
    def here(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.host == self.this_host)

    @property
    def num_hosts(self) -> int:
        return len({member.host for member in self.members})

    def endpoints(self, role: str) -> list[str]:
        return [member.endpoint for member in self.members if member.role == role]


def place_ranks(hosts: Sequence[Host], rendezvous: Rendezvous, this_host: int = 0) -> Roster:
    """Number the processes of ``hosts`` from 0 on. Cards count only if every process has some."""
    found = [(h, i, e) for h, host in enumerate(hosts) for i, e in enumerate(host.endpoints)]
    cards = [each for host in hosts for each in host.devices]
    if len(cards) != len(found):
        cards = [""] * len(found)
    members = [
        Member(RANK, rank, endpoint, host, local_rank, cards[rank])
        for rank, (host, local_rank, endpoint) in enumerate(found)
    ]
    return Roster(tuple(members), rendezvous, this_host)
