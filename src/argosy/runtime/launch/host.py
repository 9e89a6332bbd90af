"""A job whose hosts need not look for each other: this one alone, or those that ``--ips`` lists."""

from __future__ import annotations

import os
import secrets
import socket
import string
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from argosy.foundation import env
from argosy.foundation.endpoints import LOOPBACK, Endpoint, bind_listener, endpoint_of, parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.comm.token import make as make_token
from argosy.runtime.launch.crew import Crew
from argosy.runtime.launch.job_token import token_of_job
from argosy.runtime.launch.logs import Follower, LogFolder
from argosy.runtime.launch.process import Worker, describe_exit, shell_code
from argosy.runtime.launch.rank_env import Job, worker_env
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.supervisor import Outcome, Supervisor


def run_host(spec: LaunchSpec, out: TextIO) -> int:
    """Run this host's processes, again after a failure while ``max_restart`` allows it; returns the
    exit code for the shell.
    """
    command = command_of(spec)
    attempt = 0
    while True:
        outcome = _run_once(spec, command, out, is_first=attempt == 0)
        if outcome.failed_rank is None or attempt >= spec.max_restart:
            return shell_code(outcome.exit_code)
        attempt += 1
        print(
            f"launch: restarting the job ({attempt} of at most {spec.max_restart} restarts)",
            file=out,
        )


def _run_once(spec: LaunchSpec, command: Sequence[str], out: TextIO, is_first: bool) -> Outcome:
    with ExitStack() as stack:
        job, server = (
            _join_listed_hosts(spec, stack, out) if spec.is_listed else _one_host(spec, stack)
        )
        logs = open_logs(spec, is_first)
        crew = stack.enter_context(Crew())
        follower = (
            stack.enter_context(Follower(logs.worker(0), sys.stdout.buffer)) if logs else None
        )

        def start() -> None:
            start_workers(crew, job, spec, command, logs)
            if spec.shows_table:
                print(table(job, crew.workers, command, logs), file=out)

        check = (lambda: None) if server is None else server.check
        outcome = Supervisor(crew, start, follower, out, check=check).run()
        if outcome.interrupted_by is not None:
            print(
                f"launch: stopped ({describe_exit(outcome.exit_code)}); all workers were ended",
                file=out,
            )
        elif outcome.failed_rank is not None:
            report_failure(outcome.failed_rank, outcome.exit_code, job, logs, out)
        return outcome


def _one_host(spec: LaunchSpec, stack: ExitStack) -> tuple[Job, StoreServer]:
    """All processes are here: the launcher serves the store, under a fresh token."""
    token = make_token()
    where = parse(spec.master, "--master") if spec.master else Endpoint(LOOPBACK, 0)
    server = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
    endpoints = reserve(stack, LOOPBACK, spec.start_port, spec.nproc)
    job = make_job(
        spec, endpoints=endpoints, master=str(server.endpoint), token=token, devices=spec.devices
    )
    return job, server


def _join_listed_hosts(
    spec: LaunchSpec, stack: ExitStack, out: TextIO
) -> tuple[Job, StoreServer | None]:
    """Everybody knows every endpoint; the first host serves the store on the first one."""
    assert spec.start_port is not None
    node = _own_place(spec)
    endpoints = [
        str(Endpoint(ip, spec.start_port + i)) for ip in spec.ips for i in range(spec.nproc)
    ]
    where = parse(endpoints[0])
    token = token_of_job(where, node == 0, spec.argv, out)
    server = None
    if node == 0:
        server = stack.enter_context(StoreServer(bind_listener(where.host, where.port), token))
        reserve(stack, where.host, spec.start_port + 1, spec.nproc - 1)
    else:
        reserve(stack, spec.ips[node], spec.start_port, spec.nproc)
    job = make_job(
        spec, endpoints=endpoints, master=endpoints[0], token=token, num_nodes=len(spec.ips),
        first_rank=node * spec.nproc,
        devices=spec.devices * len(spec.ips),
    )  # fmt: skip
    return job, server


def _own_place(spec: LaunchSpec) -> int:
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


def is_own_address(host: str) -> bool:
    """Whether this host can listen on ``host``."""
    try:
        bind_listener(host).close()
    except ConfigError:
        return False
    return True


def reserve(stack: ExitStack, host: str, start_port: int | None, count: int) -> list[str]:
    """Listen on the workers' endpoints for as long as ``stack`` lives, so that a port that is
    announced belongs to the job.
    """
    listeners: list[socket.socket] = []
    for n in range(count):
        listeners.append(
            stack.enter_context(bind_listener(host, 0 if start_port is None else start_port + n))
        )
    return [str(endpoint_of(listener)) for listener in listeners]


def make_job(
    spec: LaunchSpec,
    *,
    endpoints: Sequence[str],
    master: str,
    token: str,
    devices: Sequence[str],
    num_nodes: int = 1,
    first_rank: int = 0,
) -> Job:
    """The job as this host's workers are told of it."""
    inherited = env.get("OMP_NUM_THREADS")
    num_threads = (
        int(inherited)
        if inherited.isdigit()
        else max(1, len(os.sched_getaffinity(0)) // spec.nproc)
    )
    return Job(
        endpoints=endpoints,
        master=master,
        token=token,
        num_nodes=num_nodes,
        nproc=spec.nproc,
        first_rank=first_rank,
        job_id=spec.job_id,
        pod_name="".join(secrets.choice(string.ascii_lowercase) for _ in range(6)),
        backend=spec.backend,
        log_dir=None if spec.log_dir is None else str(Path(spec.log_dir).absolute()),
        num_threads=spec.num_threads or num_threads,
        is_num_threads_asked=spec.num_threads is not None,
        devices=devices,
        with_gloo=spec.with_gloo,
    )


def command_of(spec: LaunchSpec) -> list[str]:
    """How a worker is started: Python scripts unbuffered with this interpreter, anything else as it
    is.
    """
    if not spec.script.endswith(".py"):
        return [spec.script, *spec.script_args]
    if not Path(spec.script).exists():
        raise ConfigError(f"launch: there is no script {spec.script!r} in {Path.cwd()}")
    return [sys.executable, "-u", spec.script, *spec.script_args]


def open_logs(spec: LaunchSpec, is_first: bool = True) -> LogFolder | None:
    """The log folder with this host's logs in it; None where workers write to the terminal."""
    if spec.log_dir is None:
        return None
    logs = LogFolder(spec.log_dir, spec.log_overwrite and is_first)
    logs.prepare(spec.nproc)
    return logs


def start_workers(
    crew: Crew, job: Job, spec: LaunchSpec, command: Sequence[str], logs: LogFolder | None
) -> None:
    """Start this host's workers and write down what they are told."""
    inherited = env.everything()
    if logs is not None:
        logs.describe_job(job, spec.generation)
    for local_rank in range(job.nproc):
        variables = worker_env(job, local_rank, inherited)
        if logs is None:
            crew.start(job.first_rank + local_rank, command, variables, None)
            continue
        logs.describe_worker(local_rank, variables, spec.generation)
        with logs.open(local_rank) as log:
            crew.start(job.first_rank + local_rank, command, variables, log)


def table(
    job: Job, workers: Sequence[Worker], command: Sequence[str], logs: LogFolder | None
) -> str:
    """The workers of this host, for the terminal."""
    here = "" if job.num_nodes == 1 else f" ({len(workers)} here)"
    cores = f"{job.num_threads} thread{'s' if job.num_threads > 1 else ''} each"
    lines = [
        (
            f"launch: {job.world_size} worker{'s' if job.world_size > 1 else ''}{here}, {cores}: "
            f"{' '.join(command)}"
        ),
        "  rank  pid      log",
    ]
    for worker in workers:
        lines.append(
            f"  {worker.rank:4}  {worker.pid:<7}  "
            f"{logs.worker(worker.rank - job.first_rank) if logs else 'terminal'}"
        )
    return "\n".join(lines)


def report_failure(
    rank: int, exit_code: int, job: Job, logs: LogFolder | None, out: TextIO
) -> None:
    """Say which rank failed first and show the end of its log."""
    others = (
        "; it was the first to fail, the other workers were ended" if job.world_size > 1 else ""
    )
    print(f"launch: rank {rank} {describe_exit(exit_code)}{others}", file=out)
    if logs is not None:
        lines = logs.last_lines(rank - job.first_rank)
        print(
            f"  last lines of {logs.worker(rank - job.first_rank)}:"
            if lines
            else "  it has printed nothing",
            file=out,
        )
        for line in lines:
            print(f"  | {line}", file=out)
