"""``python -m paddle.distributed.launch``: from a command line to a finished job and its exit code."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TextIO

import torch

from argosy.foundation import env
from argosy.foundation.endpoints import LOOPBACK, bind_listener, endpoint_of
from argosy.foundation.errors import ArgosyError, ConfigError
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.launch import spec as specs
from argosy.runtime.launch.logs import Follower, LogFolder, last_lines
from argosy.runtime.launch.process import Worker, describe_exit
from argosy.runtime.launch.rank_env import Job, visible_positions, worker_env
from argosy.runtime.launch.supervisor import Outcome, Supervisor


def main(argv: Sequence[str] | None = None) -> int:
    """Run a job and return the exit code for the shell; errors of usage are printed, not raised."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if any(word in ("-h", "--help") for word in arguments[:1]):
            specs.build_parser().print_help()
            return 0
        spec = specs.parse(arguments, env.everything(), torch.cuda.device_count())
        if spec.is_multi_node:
            from argosy.runtime.launch.elastic import run_node

            return run_node(spec)
        return run_host(spec, sys.stderr)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def command_of(spec: specs.LaunchSpec) -> list[str]:
    """How a worker is started: Python scripts unbuffered with this interpreter, anything else as it is."""
    if spec.script.endswith(".py"):
        if not os.path.exists(spec.script):
            raise ConfigError(f"launch: there is no script {spec.script!r} in {os.getcwd()}")
        return [sys.executable, "-u", spec.script, *spec.script_args]
    return [spec.script, *spec.script_args]


def run_host(spec: specs.LaunchSpec, out: TextIO) -> int:
    """Run all processes of a one-host job, again after a failure while ``max_restart`` allows it."""
    command = command_of(spec)
    devices = _devices(spec, out)
    attempt = 0
    while True:
        outcome = _run_once(spec, command, devices, out, is_first=attempt == 0)
        if outcome.failed_rank is None or outcome.interrupted_by is not None or attempt >= spec.max_restart:
            return _exit_code(outcome)
        attempt += 1
        print(f"launch: restarting the job ({attempt} of at most {spec.max_restart} restarts)", file=out)


def _exit_code(outcome: Outcome) -> int:
    return 128 - outcome.exit_code if outcome.exit_code < 0 else outcome.exit_code


def _devices(spec: specs.LaunchSpec, out: TextIO) -> list[str | None]:
    if not spec.devices:
        return [None] * spec.nproc
    if not torch.cuda.is_available():
        print(f"launch: no GPU is available to PyTorch here; devices {','.join(spec.devices)} become {spec.nproc} CPU workers", file=out)
    return list(visible_positions(spec.devices, env.get("CUDA_VISIBLE_DEVICES")))


def _run_once(spec: specs.LaunchSpec, command: Sequence[str], devices: Sequence[str | None], out: TextIO, is_first: bool) -> Outcome:
    with ExitStack() as stack:
        token = secrets.token_hex(16)
        server = stack.enter_context(StoreServer(bind_listener(LOOPBACK), token))
        # The workers' endpoints are reserved by listening on them for as long as the job runs.
        endpoints = [stack.enter_context(_reserve(spec, n)) for n in range(spec.nproc)]
        job = Job(
            endpoints=[str(endpoint_of(listener)) for listener in endpoints],
            master=str(server.endpoint),
            token=token,
            nproc=spec.nproc,
            job_id=spec.job_id,
            backend=spec.backend,
            log_dir=spec.log_dir,
            num_threads=spec.num_threads or max(1, (os.cpu_count() or 1) // spec.nproc),
        )
        logs = LogFolder(spec.log_dir, spec.log_overwrite and is_first) if spec.log_dir else None
        workers: list[Worker] = []

        def start() -> list[Worker]:
            inherited = env.everything()
            workers.extend(_start_worker(job, n, command, devices[n], inherited, logs) for n in range(spec.nproc))
            print(_table(job, workers, command, logs), file=out)
            return workers

        follower = Follower(logs.worker(0), sys.stdout.buffer) if logs else None
        outcome = Supervisor(start, follower).run()
        _report(outcome, workers, logs, out)
        return outcome


def _reserve(spec: specs.LaunchSpec, local_rank: int) -> socket.socket:
    port = 0 if spec.start_port is None else spec.start_port + local_rank
    return bind_listener(LOOPBACK, port)


def _start_worker(
    job: Job, local_rank: int, command: Sequence[str], device: str | None, inherited: Mapping[str, str], logs: LogFolder | None
) -> Worker:
    log = logs.open(local_rank) if logs else None
    try:
        return Worker(local_rank, command, worker_env(job, local_rank, device, inherited), log)
    except OSError as error:
        raise ConfigError(f"launch: cannot start {command[0]!r}: {error.strerror}") from error
    finally:
        if log is not None:
            log.close()


def _table(job: Job, workers: Sequence[Worker], command: Sequence[str], logs: LogFolder | None) -> str:
    lines = [f"launch: {job.world_size} workers, {job.num_threads} thread(s) each: {' '.join(command)}", "  rank  pid      log"]
    lines += [f"  {w.rank:4}  {w.pid:<7}  {logs.worker(w.rank) if logs else 'terminal'}" for w in workers]
    return "\n".join(lines)


def _report(outcome: Outcome, workers: Sequence[Worker], logs: LogFolder | None, out: TextIO) -> None:
    if outcome.interrupted_by is not None:
        print(f"launch: interrupted by signal {outcome.interrupted_by}; all workers were ended", file=out)
        return
    if outcome.failed_rank is None:
        return
    print(f"launch: rank {outcome.failed_rank} {describe_exit(outcome.exit_code)}; the other workers were ended", file=out)
    if logs is not None:
        path = logs.worker(outcome.failed_rank)
        print(f"  last lines of {path}:", file=out)
        for line in last_lines(path):
            print(f"  | {line}", file=out)
