"""A parameter-server job: this host's servers and workers, until the workers have finished.

A server that is killed is started again, at its endpoint and with its tables; a worker that fails
ends the job, unless ``--max_restart`` lets it come back. All of it is on this host, or the hosts
meet (``meeting.py``) and watch each other (``other_hosts.py``).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, parse
from argosy.foundation.errors import CommError, ConfigError
from argosy.runtime.comm.store_server import StoreFailed, StoreServer
from argosy.runtime.comm.token import given as given_token
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import this_machine
from argosy.runtime.launch.observation import Observation
from argosy.runtime.launch.planners import server_hosts
from argosy.runtime.launch.planners import servers as planner
from argosy.runtime.launch.ports import keep_ports
from argosy.runtime.launch.report import shell_code
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.launch.servers.meeting import listed_here, meet
from argosy.runtime.launch.servers.other_hosts import OtherHosts
from argosy.runtime.launch.servers.view import Display
from argosy.runtime.launch.spec import LaunchSpec, PsSpec
from argosy.runtime.launch.supervisor import Supervisor


def run_servers(spec: LaunchSpec, ps: PsSpec, seen: Observation) -> int:
    """Run this host's share of a parameter-server job; returns the exit code for the shell."""
    with ExitStack() as stack:
        if _is_alone(spec, ps):
            return _run_alone(spec, ps, stack, seen)
        return _run_together(spec, ps, stack, seen)


def _is_alone(spec: LaunchSpec, ps: PsSpec) -> bool:
    """Whether every server and worker runs here."""
    if not ps.servers and not ps.workers:
        return not spec.meets_at_master
    listed, here = server_hosts.listed(ps), listed_here(spec, ps)
    if here == listed:
        return True
    if not all(listed.values()):
        raise ConfigError(
            "launch: where processes of several hosts are listed, both --servers and --workers "
            "must be"
        )
    return False


def _run_together(spec: LaunchSpec, ps: PsSpec, stack: ExitStack, seen: Observation) -> int:
    say = seen.terminal.print
    try:
        met = meet(spec, ps, stack, say)
    except StoreFailed:
        raise
    except CommError as error:
        say(f"launch: the hosts could not meet at {spec.master}: {error}")
        return 1
    certificates = [host.certificate for host in met.hosts]
    files = _files(ps, met.roster, stack, met.own, certificates, met.descriptor_by_endpoint)
    return _run(spec, met.roster, files, stack, seen, others=met.others)


def _run_alone(spec: LaunchSpec, ps: PsSpec, stack: ExitStack, seen: Observation) -> int:
    kept = keep_ports(stack, 0 if ps.servers else ps.num_servers, lets_others_listen=False)
    # nothing of ours connects to a worker; its script may want to listen there by itself
    listed = server_hosts.listed(ps)
    workers = listed[WORKER] or tuple(keep_ports(stack, ps.num_workers, lets_others_listen=True))
    members = [
        Member(role, rank, endpoint, local_rank=rank)
        for role, endpoints in ((SERVER, listed[SERVER] or tuple(kept)), (WORKER, workers))
        for rank, endpoint in enumerate(endpoints)
    ]
    where = parse(spec.master, "--master") if spec.master else Endpoint(LOOPBACK, 0)
    token = given_token() or make_token()
    store = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
    rendezvous = Rendezvous(spec.master or str(store.endpoint), token)
    roster = Roster(tuple(members), rendezvous)
    own = None
    if ps.uses_tls and not ps.tls_root:
        own = ps_tls.make([parse(endpoint).host for endpoint in roster.endpoints(SERVER)])
    certificates = [] if own is None else [own.cert]
    files = _files(ps, roster, stack, own, certificates, kept)
    return _run(spec, roster, files, stack, seen, store=store)


def _files(
    ps: PsSpec,
    roster: Roster,
    stack: ExitStack,
    own: ps_tls.Certificate | None,
    certificates: Sequence[str],
    kept: Mapping[str, int],
) -> planner.ServerFiles:
    """The folder of the job on this host, which goes with ``stack``, and what lies in it."""
    folder = tempfile.mkdtemp(prefix="argosy-ps-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    tls = None
    if ps.tls_root:
        tls = ps_tls.given(ps, any(member.role == SERVER for member in roster.here))
    elif any(certificates):
        tls = ps_tls.write(Path(folder) / "tls", own, certificates)
    return planner.ServerFiles(folder, tls, kept)


def _run(
    spec: LaunchSpec,
    roster: Roster,
    files: planner.ServerFiles,
    stack: ExitStack,
    seen: Observation,
    *,
    store: StoreServer | None = None,
    others: OtherHosts | None = None,
) -> int:
    job = planner.plan(spec, roster, this_machine(), files)
    root = None if files.tls is None else files.tls.root
    terminal = seen.terminal
    stack.enter_context(
        Display(
            roster.endpoints(SERVER), roster.rendezvous.token, seen, root, prints=spec.shows_table
        )
    )
    supervisor = Supervisor(
        job,
        terminal.print,
        check=None if store is None else store.check,
        others=others,
        folder=files.folder,
        terminal=terminal.over(sys.stdout.buffer),
        watch=seen.watch(job, None if others is None else others.paces()),
    )
    return shell_code(supervisor.run().exit_code)
