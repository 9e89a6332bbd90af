"""A parameter-server job: this host's servers and workers, until the workers have finished.

A server that is killed is started again, at its endpoint and with its tables; a worker that fails
ends the job, unless ``--max_restart`` lets it come back.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TextIO

from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import given as given_token
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch import ps_tls
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.machine import is_own_address, this_machine
from argosy.runtime.launch.placement import SERVER, WORKER, Member, Placement
from argosy.runtime.launch.planners import servers as planner
from argosy.runtime.launch.ports import keep_ports
from argosy.runtime.launch.ps_view import Display
from argosy.runtime.launch.report import Say, shell_code
from argosy.runtime.launch.spec import LaunchSpec, PsSpec
from argosy.runtime.launch.supervisor import Supervisor

_HERE, _ELSEWHERE = 0, 1


def run_servers(spec: LaunchSpec, ps: PsSpec, out: TextIO) -> int:
    """Run this host's share of a parameter-server job; returns the exit code for the shell."""
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="argosy-ps-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        kept = keep_ports(stack, 0 if ps.servers else ps.num_servers, lets_others_listen=False)
        members = _members(spec, ps, tuple(kept), stack)
        rendezvous, store = _meet(spec, members, stack, partial(print, file=out, flush=True))
        placement = Placement(members, rendezvous, _HERE)
        tls = _certificates(ps, placement, Path(folder))
        files = planner.ServerFiles(folder, tls, kept)
        job = planner.plan(spec, placement, this_machine(), files)
        display = Display(
            placement.endpoints(SERVER), rendezvous.token, out, None if tls is None else tls.root
        )
        if spec.shows_table:
            stack.enter_context(display)
        supervisor = Supervisor(
            job,
            display.print,
            check=None if store is None else store.check,
            folder=folder,
            terminal=display.over(sys.stdout.buffer),
        )
        return shell_code(supervisor.run().exit_code)


def _members(
    spec: LaunchSpec, ps: PsSpec, kept: Sequence[str], stack: ExitStack
) -> tuple[Member, ...]:
    """Every server and worker: as listed, or at ports of this host, for servers those that are
    kept.
    """
    servers = ps.servers or kept
    # nothing of ours connects to a worker; its script may want to listen there by itself
    workers = [w if ":" in w else str(Endpoint(w, 0)) for w in ps.workers] or list(
        keep_ports(stack, ps.num_workers, lets_others_listen=True)
    )
    members = _placed(SERVER, servers, spec) + _placed(WORKER, workers, spec)
    if all(member.host != _HERE for member in members):
        raise ConfigError(
            f"launch: none of the servers {','.join(servers)} and workers {','.join(workers)} "
            "runs on this host; name it with --host"
        )
    return members


def _placed(role: str, endpoints: Sequence[str], spec: LaunchSpec) -> tuple[Member, ...]:
    seen: Counter[int] = Counter()
    members = []
    for rank, endpoint in enumerate(endpoints):
        host = _HERE if _is_here(endpoint, spec) else _ELSEWHERE
        members.append(Member(role, rank, endpoint, host, seen[host]))
        seen[host] += 1
    return tuple(members)


def _is_here(endpoint: str, spec: LaunchSpec) -> bool:
    host = parse(endpoint).host
    return host == spec.host if spec.host else is_own_address(host)


def _meet(
    spec: LaunchSpec, members: Sequence[Member], stack: ExitStack, say: Say
) -> tuple[Rendezvous, StoreServer | None]:
    """Where all meet, under which token, and the store if it is served here."""
    is_alone = all(member.host == _HERE for member in members)
    if not is_alone and not spec.master:
        raise ConfigError(
            "launch: servers and workers on several hosts need --master host:port, the same on each"
        )
    where = parse(spec.master, "--master") if spec.master else Endpoint(LOOPBACK, 0)
    serves = not spec.master or _is_here(spec.master, spec)
    if is_alone:
        token = given_token() or make_token()
    else:
        token = token_of_job(where, serves, spec.argv, say)
    if not serves:
        return Rendezvous(spec.master, token), None
    store = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
    return Rendezvous(spec.master or str(store.endpoint), token), store


def _certificates(ps: PsSpec, placement: Placement, folder: Path) -> ps_tls.TlsFiles | None:
    if not ps.uses_tls:
        return None
    mine = [member.rank for member in placement.here if member.role == SERVER]
    if ps.tls_root:
        return ps_tls.given(ps, mine)
    where = placement.rendezvous
    addresses = placement.endpoints(SERVER)
    return ps_tls.made(folder / "tls", addresses, mine, where.endpoint, where.token)
