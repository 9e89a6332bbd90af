"""The hosts of a parameter-server job that have met: whether all are there, and who runs where.
Pure.

Each launcher has the same records in the same order of arrival, so all agree on the numbers of
servers and workers, and on what is wrong with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.planners.round import in_rank_order
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster
from argosy.runtime.launch.servers.host import CLEAR, GIVEN, MADE, ServerHost
from argosy.runtime.launch.servers.spec import PsSpec

_TALK = {
    CLEAR: "in the clear (--tls false)",
    MADE: "by TLS with certificates of the job",
    GIVEN: "by TLS with certificates that were given (--tls_root)",
}


def listed(ps: PsSpec) -> dict[str, tuple[str, ...]]:
    """The endpoints of both roles where they are listed; a worker without a port has 0."""
    workers = tuple(w if ":" in w else str(Endpoint(w, 0)) for w in ps.workers)
    return {SERVER: ps.servers, WORKER: workers}


def are_all_there(hosts: Sequence[ServerHost], ps: PsSpec, num_hosts: int) -> bool:
    """Whether no other host is to be waited for: as many have come as were asked for, or as bring
    every process that is listed.
    """
    if not ps.servers:
        return len(hosts) >= num_hosts
    brought = sum(len(host.servers) + len(host.workers) for host in hosts)
    return brought >= len(ps.servers) + len(ps.workers)


def place(
    hosts: Sequence[ServerHost],
    this_host: int,
    ps: PsSpec,
    rendezvous: Rendezvous,
    *,
    sorts_hosts: bool = False,
) -> Roster:
    """Number the servers and workers of ``hosts``, which are in order of arrival: as they are
    listed, else host by host in the order of ranks.
    """
    _check_agreement(hosts)
    order = in_rank_order(hosts, sorts_hosts)
    if ps.servers:
        members = _as_listed(SERVER, hosts, listed(ps)[SERVER])
        members += _as_listed(WORKER, hosts, listed(ps)[WORKER])
    else:
        members = _by_host(SERVER, hosts, order) + _by_host(WORKER, hosts, order)
    return Roster(tuple(members), rendezvous, this_host)


def _check_agreement(hosts: Sequence[ServerHost]) -> None:
    first = hosts[0]
    for host in hosts:
        if host.num_hosts != first.num_hosts:
            raise ConfigError(
                f"launch: {first.address} was started with --nnodes {first.num_hosts}, "
                f"{host.address} with {host.num_hosts}"
            )
        if host.tls != first.tls:
            raise ConfigError(
                f"launch: servers and workers must talk in one way, but those of {first.address} "
                f"talk {_TALK[first.tls]}, those of {host.address} {_TALK[host.tls]}"
            )


def _brought(role: str, host: ServerHost) -> tuple[str, ...]:
    return host.servers if role == SERVER else host.workers


def _by_host(role: str, hosts: Sequence[ServerHost], order: Sequence[int]) -> list[Member]:
    found = [(i, n, e) for i in order for n, e in enumerate(_brought(role, hosts[i]))]
    if not found:
        raise ConfigError(
            f"launch: none of the hosts {', '.join(host.address for host in hosts)} has a {role}; "
            f"give at least one of them --{role}_num"
        )
    endpoints = [endpoint for _, _, endpoint in found]
    twice = next((e for e in endpoints if endpoints.count(e) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"launch: two hosts say that {twice} is theirs; give each its own address with --host"
        )
    return [Member(role, rank, e, i, n) for rank, (i, n, e) in enumerate(found)]


def _as_listed(role: str, hosts: Sequence[ServerHost], endpoints: Sequence[str]) -> list[Member]:
    left = [Counter(_brought(role, host)) for host in hosts]
    seen: Counter[int] = Counter()
    members = []
    for rank, endpoint in enumerate(endpoints):
        owner = next((i for i, mine in enumerate(left) if mine[endpoint] > 0), None)
        if owner is None:
            raise ConfigError(
                f"launch: {role} {rank} at {endpoint} is listed, but is not of any host that has "
                f"come ({', '.join(host.address for host in hosts)}); are the lists the same?"
            )
        left[owner][endpoint] -= 1
        members.append(Member(role, rank, endpoint, owner, seen[owner]))
        seen[owner] += 1
    for host, more in zip(hosts, left, strict=True):
        if more.total():
            raise ConfigError(
                f"launch: {host.address} says that {role} {min(+more)} is its own, but it is not "
                "listed here, or another host has it"
            )
    return members
