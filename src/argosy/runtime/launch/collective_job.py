"""A job whose hosts need not look for each other: this one alone, or those that ``--ips`` lists."""

from __future__ import annotations

import itertools
import sys
from contextlib import ExitStack

from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.machine import is_own_address, this_machine
from argosy.runtime.launch.observation import Observation
from argosy.runtime.launch.planners import collective
from argosy.runtime.launch.ports import reserve
from argosy.runtime.launch.report import Say, shell_code
from argosy.runtime.launch.roster import Roster, place_ranks
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.supervisor import Supervisor


def run_collective(spec: LaunchSpec, seen: Observation) -> int:
    """Run this host's processes, again after a failure while ``max_restart`` allows it; returns the
    exit code for the shell.
    """
    say = seen.terminal.print
    for attempt in itertools.count(1):
        with ExitStack() as stack:
            roster, store = (
                _place_listed(spec, stack, say) if spec.is_listed else place_here(spec, stack)
            )
            job = collective.plan(spec, roster, this_machine(), is_first=attempt == 1)
            outcome = Supervisor(
                job,
                say,
                check=None if store is None else store.check,
                terminal=seen.terminal.over(sys.stdout.buffer),
                watch=seen.watch(job),
            ).run()
        if outcome.failed is None or outcome.was_asked or attempt > spec.max_restart:
            break
        again = f"restarting the job ({attempt} of at most {spec.max_restart} restarts)"
        say(f"launch: {again}")
        seen.event("restart", again)
    return shell_code(outcome.exit_code)


def place_here(spec: LaunchSpec, stack: ExitStack) -> tuple[Roster, StoreServer]:
    """All processes are here: this process serves the store, under a fresh token."""
    token = make_token()
    where = parse(spec.master, "--master") if spec.master else Endpoint(LOOPBACK, 0)
    server = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
    endpoints = reserve(stack, LOOPBACK, spec.start_port, spec.nproc)
    host = Host(LOOPBACK, -1, endpoints, spec.devices)
    return place_ranks([host], Rendezvous(str(server.endpoint), token)), server


def _place_listed(
    spec: LaunchSpec, stack: ExitStack, say: Say
) -> tuple[Roster, StoreServer | None]:
    """Everybody knows every endpoint; the first host serves the store on the first one."""
    start_port = spec.start_port
    assert start_port is not None
    this_host = _own_number(spec)
    hosts = []
    for ip in spec.ips:
        endpoints = tuple(str(Endpoint(ip, start_port + i)) for i in range(spec.nproc))
        hosts.append(Host(ip, -1, endpoints, spec.devices))
    where = parse(hosts[0].endpoints[0])
    token = token_of_job(where, this_host == 0, spec.argv, say)
    server = None
    if this_host == 0:
        server = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
        reserve(stack, where.host, start_port + 1, spec.nproc - 1)
    else:
        reserve(stack, spec.ips[this_host], start_port, spec.nproc)
    return place_ranks(hosts, Rendezvous(str(where), token), this_host), server


def _own_number(spec: LaunchSpec) -> int:
    """Which of the listed hosts this one is."""
    if spec.host:
        mine = [spec.host] if spec.host in spec.ips else []
    else:
        mine = [ip for ip in spec.ips if is_own_address(ip)]
    if len(mine) == 1:
        return spec.ips.index(mine[0])
    if 0 <= spec.node_rank < len(spec.ips):
        return spec.node_rank
    found = (
        f"{' and '.join(mine)} are addresses of it"
        if mine
        else f"{spec.host or 'no address'} of it is among them"
    )
    raise ConfigError(
        f"launch: which of --ips {','.join(spec.ips)} this host is cannot be told: {found}; name "
        "it with --host"
    )
