"""A parameter-server job: this host's servers and workers, until the workers have finished.

A server that is killed is started again, at its endpoint and with its tables; a worker that fails
ends the job, unless ``--max_restart`` lets it come back. Servers end by themselves when every
worker has said goodbye; those that have not after a while are ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO

from argosy.foundation import env
from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, endpoint_of, parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store_server import StoreFailed, StoreServer
from argosy.runtime.comm.token import given as given_token
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch import ps_tls
from argosy.runtime.launch.crew import Crew
from argosy.runtime.launch.host import command_of, is_own_address
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.logs import Follower, last_lines, role_log
from argosy.runtime.launch.process import Worker, describe_exit, shell_code
from argosy.runtime.launch.ps_env import REFUSED, SERVER, WORKER, PsJob, progress_folder, role_env
from argosy.runtime.launch.ps_view import Display
from argosy.runtime.launch.spec import LaunchSpec, PsSpec
from argosy.runtime.launch.supervisor import GRACE_S, install_handlers, restore_handlers
from argosy.runtime.ps.port import keep

_LOOK_S = 0.05
_SERVERS_END_S = 30.0
_SERVER_RESTARTS = 10
# a worker that is started again loads torch and builds its model before it is back
_PATIENCE_S = 60


@dataclass(eq=False)
class _Member:
    """One process of the job, over its restarts."""

    role: str
    number: int
    process: Worker
    num_restarts: int = 0

    def __str__(self) -> str:
        return f"{self.role} {self.number}"


def run_roles(spec: LaunchSpec, ps: PsSpec, out: TextIO) -> int:
    """Run this host's share of a parameter-server job; returns the exit code for the shell."""
    command = command_of(spec)
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="argosy-ps-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ports = _Ports(stack)
        job, here, store = _plan(spec, ps, folder, stack, ports, out)
        crew = stack.enter_context(Crew(folder))
        display = Display(job.servers, job.token, out, None if job.tls is None else job.tls.root)
        run = _Run(spec, job, here, command, crew, display, ports, store)
        follower = run.follower()
        if follower is not None:
            stack.enter_context(follower)
        if spec.shows_table:
            stack.enter_context(display)
        return run.until_done(follower)


class _Ports:
    """Ports that this launcher has chosen, kept until ``stack`` ends; a server inherits the socket
    of its own.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._keeper_by_endpoint: dict[str, socket.socket] = {}

    def for_server(self) -> str:
        keeper = self._stack.enter_context(keep(LOOPBACK))
        endpoint = str(endpoint_of(keeper))
        self._keeper_by_endpoint[endpoint] = keeper
        return endpoint

    def for_worker(self) -> str:
        """Nothing of ours connects to a worker; its script may want to listen there by itself."""
        keeper = self._stack.enter_context(keep(LOOPBACK))
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return str(endpoint_of(keeper))

    def inherited_at(self, endpoint: str) -> list[int]:
        """Descriptors for the process at ``endpoint``."""
        keeper = self._keeper_by_endpoint.get(endpoint)
        return [] if keeper is None else [keeper.fileno()]


def _plan(
    spec: LaunchSpec, ps: PsSpec, folder: str, stack: ExitStack, ports: _Ports, out: TextIO
) -> tuple[PsJob, list[tuple[str, int]], StoreServer | None]:
    """The job, which of its roles run on this host, and the store if it is served here."""
    servers = list(ps.servers) or [ports.for_server() for _ in range(ps.num_servers)]
    workers = list(ps.workers) or [ports.for_worker() for _ in range(ps.num_workers)]
    workers = [w if ":" in w else str(Endpoint(w, 0)) for w in workers]
    here = [(SERVER, i) for i, e in enumerate(servers) if _is_here(e, spec)]
    here += [(WORKER, i) for i, e in enumerate(workers) if _is_here(e, spec)]
    if not here:
        raise ConfigError(
            f"launch: none of the servers {','.join(servers)} and workers {','.join(workers)} "
            "runs on this host; name it with --host"
        )
    is_alone = len(here) == len(servers) + len(workers)
    master = spec.master
    if not is_alone and not master:
        raise ConfigError(
            "launch: servers and workers on several hosts need --master host:port, the same on each"
        )
    if is_alone:
        token = given_token() or make_token()
    else:
        token = token_of_job(parse(master, "--master"), _is_here(master, spec), spec.argv, out)
    store: StoreServer | None = None
    if not master:
        store = stack.enter_context(StoreServer(bind_listener(LOOPBACK, 0), token))
        master = str(store.endpoint)
    elif _is_here(master, spec):
        where = parse(master, "--master")
        store = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
    tls = None
    if ps.uses_tls:
        mine = [number for role, number in here if role == SERVER]
        tls = (
            ps_tls.given(ps, mine)
            if ps.tls_root
            else ps_tls.made(Path(folder) / "tls", servers, mine, master, token)
        )
    inherited = env.get("OMP_NUM_THREADS")
    num_threads = (
        int(inherited) if inherited.isdigit() else max(1, len(os.sched_getaffinity(0)) // len(here))
    )
    job = PsJob(
        servers=servers,
        workers=workers,
        master=master,
        token=token,
        folder=folder,
        job_id=spec.job_id,
        log_dir=None if spec.log_dir is None else str(Path(spec.log_dir).absolute()),
        num_threads=spec.num_threads or num_threads,
        is_num_threads_asked=spec.num_threads is not None,
        with_gloo=spec.with_gloo,
        tls=tls,
        patience_s=_PATIENCE_S if spec.max_restart else 0,
    )
    return job, here, store


def _is_here(endpoint: str, spec: LaunchSpec) -> bool:
    host = parse(endpoint).host
    return host == spec.host if spec.host else is_own_address(host)


class _Run:
    """The processes of one run and what happens to them."""

    def __init__(
        self,
        spec: LaunchSpec,
        job: PsJob,
        here: Sequence[tuple[str, int]],
        command: Sequence[str],
        crew: Crew,
        display: Display,
        ports: _Ports,
        store: StoreServer | None,
    ) -> None:
        self._spec = spec
        self._store = store
        self._ports = ports
        self._job = job
        self._here = here
        self._command = command
        self._crew = crew
        self._display = display
        self._members: list[_Member] = []
        self._signals: list[int] = []
        self._logs = None if job.log_dir is None else Path(job.log_dir)
        if self._logs is not None:
            self._logs.mkdir(parents=True, exist_ok=True)
            for role, number in here:
                role_log(self._logs, role, number).write_bytes(b"")

    def follower(self) -> Follower | None:
        """Shows the first worker of this host, or its first server if it has no worker."""
        if self._logs is None:
            return None
        shown = next((h for h in self._here if h[0] == WORKER), self._here[0])
        return Follower(role_log(self._logs, *shown), self._display.over(sys.stdout.buffer))

    def until_done(self, follower: Follower | None) -> int:
        def on_signal(number: int, frame: FrameType | None) -> None:
            self._signals.append(number)

        pump: Callable[[], None] = follower.pump if follower is not None else lambda: None
        before = install_handlers(on_signal)
        try:
            for role, number in self._here:
                self._members.append(_Member(role, number, self._start(role, number)))
            if self._spec.shows_table:
                self._display.print(self._table())
            return shell_code(self._watch(pump))
        except StoreFailed as error:
            self._display.print(f"launch: {error}; all processes are ended")
            return 1
        finally:
            asked = len(self._signals)
            self._crew.end(GRACE_S, lambda: len(self._signals) > asked)
            pump()
            restore_handlers(before)

    def _start(self, role: str, number: int) -> Worker:
        variables = role_env(self._job, role, number, env.everything())
        with contextlib.ExitStack() as stack:
            log = None
            if self._logs is not None:
                log = stack.enter_context(open(role_log(self._logs, role, number), "ab"))
            inherits = self._ports.inherited_at(self._endpoint(role, number))
            return self._crew.start(number, self._command, variables, log, inherits)

    def _endpoint(self, role: str, number: int) -> str:
        return (self._job.servers if role == SERVER else self._job.workers)[number]

    def _watch(self, pump: Callable[[], None]) -> int:
        """Until the workers have finished and the servers have gone, or something failed for good;
        the exit code.
        """
        workers_ended_at: float | None = None
        while self._crew.is_running:
            if self._signals:
                self._display.print(
                    f"launch: stopped ({describe_exit(-self._signals[0])}); all processes were "
                    "ended"
                )
                return -self._signals[0]
            failed = self._crew.wait(_LOOK_S)
            pump()
            if self._store is not None:
                self._store.check()  # before a process is blamed that failed for want of the store
            if failed is not None:
                member = next(m for m in self._members if m.process is failed)
                if not self._restart(member):
                    self._report(member)
                    return failed.poll() or 1
            running = {id(process) for process in self._crew.running}
            if workers_ended_at is None and not any(
                m.role == WORKER and id(m.process) in running for m in self._members
            ):
                if any(role == WORKER for role, _ in self._here):
                    workers_ended_at = time.monotonic()
            if (
                workers_ended_at is not None
                and time.monotonic() - workers_ended_at > _SERVERS_END_S
            ):
                left = [str(m) for m in self._members if id(m.process) in running]
                self._display.print(
                    f"launch: the workers have finished, but {', '.join(left)} did not end and "
                    "was ended"
                )
                return 0
        return 0

    def _restart(self, member: _Member) -> bool:
        """Start a process that failed once more, if that is allowed: servers that were killed,
        workers as often as ``--max_restart`` says.
        """
        code = member.process.poll() or 0
        if self._refusal() is not None:
            return False
        allowed = _SERVER_RESTARTS if member.role == SERVER and code < 0 else self._spec.max_restart
        if member.num_restarts >= allowed:
            return False
        member.num_restarts += 1
        self._display.print(
            f"launch: {member} {describe_exit(code)}; it is started again ({member.num_restarts} "
            f"of at most {allowed})"
        )
        member.process = self._start(member.role, member.number)
        return True

    def _refusal(self) -> str | None:
        """Why a worker that was started again does not go on, if one said so: to start anybody
        again would not help.
        """
        for member in self._members:
            said = Path(progress_folder(self._job, member.number)) / REFUSED
            if member.role == WORKER and said.is_file():
                return said.read_text(errors="replace")
        return None

    def _report(self, member: _Member) -> None:
        code = member.process.poll() or 0
        refusal = self._refusal()
        if refusal is not None:
            self._display.print(f"launch: {refusal}")
        self._display.print(f"launch: {member} {describe_exit(code)}; the job was ended")
        if self._logs is not None:
            path = role_log(self._logs, member.role, member.number)
            lines = last_lines(path)
            self._display.print(f"  last lines of {path}:" if lines else "  it has printed nothing")
            for line in lines:
                self._display.print(f"  | {line}")

    def _table(self) -> str:
        servers, workers = len(self._job.servers), len(self._job.workers)
        head = (
            f"launch: {servers} server{'s' if servers > 1 else ''}, {workers} "
            f"worker{'s' if workers > 1 else ''}: {' '.join(self._command)}"
        )
        lines = [head, "  role      pid      endpoint               log"]
        for m in self._members:
            endpoint = self._endpoint(m.role, m.number)
            log = "terminal" if self._logs is None else role_log(self._logs, m.role, m.number)
            lines.append(f"  {m!s:8}  {m.process.pid:<7}  {endpoint:21}  {log}")
        return "\n".join(lines)
