"""How the hosts of a parameter-server job meet at ``--master``: each launcher keeps ports for its
servers and publishes them, and waits until every host has done so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

from argosy.foundation.endpoints import Endpoint, parse
from argosy.foundation.errors import CollectiveTimeout, ConfigError
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import is_own_address
from argosy.runtime.launch.master import JOIN_S, own_address, reach
from argosy.runtime.launch.other_paces import NOTHING
from argosy.runtime.launch.planners import server_hosts
from argosy.runtime.launch.ports import keep_ports
from argosy.runtime.launch.report import Say
from argosy.runtime.launch.roster import SERVER, WORKER, Roster
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.launch.servers.host import MADE, ServerHost
from argosy.runtime.launch.servers.other_hosts import (
    PREFIX,
    OtherHosts,
    beat_key,
    leave,
    pace_key,
)
from argosy.runtime.launch.servers.spec import PsSpec
from argosy.runtime.launch.spec import LaunchSpec


@dataclass(frozen=True)
class Meeting:
    """What a launcher knows when all hosts have met."""

    roster: Roster
    hosts: Sequence[ServerHost]  # in order of arrival
    others: OtherHosts
    own: ps_tls.Certificate | None  # of this host's servers, if the job makes certificates
    # sockets that keep the ports of this host's servers
    descriptor_by_endpoint: Mapping[str, int]


def meet(spec: LaunchSpec, ps: PsSpec, stack: ExitStack, say: Say) -> Meeting:
    """Meet the other hosts. What is opened here is closed by ``stack``."""
    if not spec.master:
        raise ConfigError(
            "launch: servers and workers on several hosts need --master host:port, the same on each"
        )
    where = parse(spec.master, "--master")
    is_first = spec.node_rank == 0 and not ps.servers
    point = reach(where, spec, stack, say, is_first=is_first)
    mine, own, kept = _share(spec, ps, where, point.store, stack)
    number, hosts = _exchange(point.store, mine, ps, point.token)
    stack.callback(leave, point.store, point.server, len(hosts))
    rendezvous = Rendezvous(spec.master, point.token)
    roster = server_hosts.place(hosts, number, ps, rendezvous, sorts_hosts=spec.sorts_hosts)
    others = OtherHosts(point.store, point.server, [host.address for host in hosts], roster)
    return Meeting(roster, hosts, others, own, kept)


def _share(
    spec: LaunchSpec, ps: PsSpec, where: Endpoint, store: StoreClient, stack: ExitStack
) -> tuple[ServerHost, ps_tls.Certificate | None, dict[str, int]]:
    """What this host brings, the key of its certificate, and the ports that it keeps."""
    kept: dict[str, int] = {}
    if ps.servers:
        roles = listed_here(spec, ps)
        address = spec.host or parse([*roles[SERVER], *roles[WORKER]][0]).host
    else:
        address = spec.host or own_address(store)
        kept = keep_ports(stack, ps.num_servers, host=address, lets_others_listen=False)
        # nothing of ours connects to a worker; its script may want to listen there by itself
        workers = keep_ports(stack, ps.num_workers, host=address, lets_others_listen=True)
        roles = {SERVER: tuple(kept), WORKER: tuple(workers)}
    tls, own = ps_tls.mode(ps, where.host), None
    if tls == MADE and roles[SERVER]:
        own = ps_tls.make([parse(endpoint).host for endpoint in roles[SERVER]])
    mine = ServerHost(
        address=address,
        asked_rank=-1 if ps.servers else spec.node_rank,
        num_hosts=0 if ps.servers else spec.max_nodes,
        servers=roles[SERVER],
        workers=roles[WORKER],
        tls=tls,
        certificate="" if own is None else own.cert,
    )
    return mine, own, kept


def listed_here(spec: LaunchSpec, ps: PsSpec) -> dict[str, tuple[str, ...]]:
    """The listed servers and workers that run on this host."""
    found = {
        role: tuple(e for n, e in enumerate(endpoints) if _is_here(role, n, e, spec, ps))
        for role, endpoints in server_hosts.listed(ps).items()
    }
    if not any(found.values()):
        raise ConfigError(
            f"launch: none of the servers {','.join(ps.servers)} and workers "
            f"{','.join(ps.workers)} runs on this host; name it with --host"
        )
    return found


def _is_here(role: str, number: int, endpoint: str, spec: LaunchSpec, ps: PsSpec) -> bool:
    if ps.only is not None:
        return (role, number) == ps.only
    host = parse(endpoint).host
    return host == spec.host if spec.host else is_own_address(host)


def _exchange(
    store: StoreClient, mine: ServerHost, ps: PsSpec, token: str
) -> tuple[int, list[ServerHost]]:
    """Publish what this host brings and wait for the others: its number in order of arrival, and
    the records of all.
    """
    number = store.add(f"{PREFIX}/arrived", 1) - 1
    if mine.num_hosts and number >= mine.num_hosts:
        raise ConfigError(
            f"launch: {mine.num_hosts} hosts (--nnodes) have met at {store.endpoint} already; a "
            "host that has left a job of servers cannot come back into it"
        )
    key = _key(number)
    keys = [pace_key(number), beat_key(number), key]
    store.multi_set(keys, [NOTHING, "0", mine.sealed(token, key)])
    store.set_timeout(timedelta(seconds=JOIN_S))
    hosts: list[ServerHost] = []
    while not server_hosts.are_all_there(hosts, ps, mine.num_hosts):
        key = _key(len(hosts))
        try:
            hosts.append(ServerHost.unsealed(store.get(key), token, key))
        except CollectiveTimeout as error:
            here = ", ".join(host.address for host in hosts)
            raise CollectiveTimeout(
                f"not all hosts have come to {store.endpoint} within {JOIN_S} s; here are {here}"
            ) from error
    return number, hosts


def _key(number: int) -> str:
    return f"{PREFIX}/host/{number}"
