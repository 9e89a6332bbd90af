"""A round of hosts that have met: their order, and the ranks of this one. Pure."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Protocol

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners import collective
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.roster import place_ranks
from argosy.runtime.launch.spec import LaunchSpec


def plan(
    spec: LaunchSpec,
    hosts: Sequence[Host],
    this_host: int,
    rendezvous: Rendezvous,
    machine: Machine,
    *,
    is_first: bool = True,
) -> Job:
    """The share of ``hosts[this_host]``; all hosts are in order of arrival. Each launcher has the
    same list, so all agree on the ranks.
    """
    order = in_rank_order(hosts, spec.sorts_hosts)
    roster = place_ranks([hosts[i] for i in order], rendezvous, order.index(this_host))
    return collective.plan(spec, roster, machine, is_first=is_first)


class Arrived(Protocol):
    """A host that has come: where it is, and the rank that it asks for (-1: none)."""

    @property
    def address(self) -> str: ...

    @property
    def asked_rank(self) -> int: ...


def in_rank_order(hosts: Sequence[Arrived], sorts_hosts: bool) -> list[int]:
    """The hosts, by their index in order of arrival, in the order of their ranks: those that asked
    for a number have it, the others fill the gaps.

    Elastic jobs may lack some of the numbers asked for; the order is kept then.
    """
    asked = [host.asked_rank for host in hosts if host.asked_rank >= 0]
    repeated = next((rank for rank in asked if asked.count(rank) > 1), None)
    if repeated is not None:
        both = " and ".join(host.address for host in hosts if host.asked_rank == repeated)
        raise ConfigError(f"launch: {both} were both started with --rank {repeated}")
    arrival = list(range(len(hosts)))
    if sorts_hosts:
        arrival.sort(key=lambda i: _ipv4(hosts[i].address))
    waiting = [i for i in arrival if hosts[i].asked_rank < 0]
    host_by_number = {hosts[i].asked_rank: i for i in arrival if hosts[i].asked_rank >= 0}
    for number in range(len(hosts)):
        if number not in host_by_number and waiting:
            host_by_number[number] = waiting.pop(0)
    return [host_by_number[number] for number in sorted(host_by_number)]


def _ipv4(address: str) -> bytes:
    try:
        return socket.inet_aton(address)
    except OSError:
        raise ConfigError(
            f"launch: --sort_ip sorts IPv4 addresses, but the host {address!r} has none"
        ) from None
