"""Running a function in several new processes: the machinery of ``paddle.distributed.spawn``."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import queue
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from argosy.foundation import env
from argosy.foundation.endpoints import LOOPBACK, bind_listener, endpoint_of
from argosy.foundation.errors import ChildFailed
from argosy.runtime.comm.store_server import StoreServer
from argosy.runtime.launch.process import describe_exit, die_with_parent
from argosy.runtime.launch.rank_env import Job, worker_env

_GRACE_S = 10.0


def _child(func: Callable[..., Any], args: Sequence[Any], variables: Mapping[str, str], parent: int, report: Any) -> None:
    die_with_parent(parent)
    env.replace(variables)
    try:
        report.send((True, func(*args)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BaseException as error:
        report.send((False, traceback.format_exc()))
        code = error.code if isinstance(error, SystemExit) else 1
        sys.exit(code if isinstance(code, int) else 1)


class SpawnContext:
    """The processes that were started. ``join()`` waits for them; the first that fails ends the others."""

    def __init__(self, processes: Sequence[Any], reports: Sequence[Any], resources: ExitStack) -> None:
        self.processes = list(processes)
        self.return_queues: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in processes]
        self._rank_by_report = {report: rank for rank, report in enumerate(reports)}
        self._rank_by_sentinel = {process.sentinel: rank for rank, process in enumerate(processes)}
        self._traceback_by_rank: dict[int, str] = {}
        self._resources = resources

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the processes; True once all have ended well, False after ``timeout`` seconds.

        ChildFailed, with the rank and its traceback, when one failed; the others have been ended by then.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._rank_by_sentinel:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            # Reports are read while their sender still runs: a large result does not fit into the pipe.
            ready = multiprocessing.connection.wait([*self._rank_by_report, *self._rank_by_sentinel], left)
            if not ready:
                return False
            for report in [item for item in ready if item in self._rank_by_report]:
                self._read(report)
            for sentinel in [item for item in ready if item in self._rank_by_sentinel]:
                self._reap(self._rank_by_sentinel.pop(sentinel))  # type: ignore[arg-type]
        self._resources.close()
        return True

    def _read(self, report: Any) -> None:
        rank = self._rank_by_report.pop(report)
        try:
            is_result, value = report.recv()
        except EOFError:
            return
        finally:
            report.close()
        if is_result:
            self.return_queues[rank].put(value)
        else:
            self._traceback_by_rank[rank] = value

    def _reap(self, rank: int) -> None:
        process = self.processes[rank]
        process.join()
        for report, other in list(self._rank_by_report.items()):
            if other == rank:
                self._read(report)
        if process.exitcode == 0:
            return
        self.terminate()
        message = f"spawn: process {rank} (pid {process.pid}) {describe_exit(process.exitcode)}; the other processes were ended."
        text = self._traceback_by_rank.get(rank)
        raise ChildFailed(f"{message}\n\n{text}" if text else message)

    def terminate(self) -> None:
        """End every process that still runs."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        self._rank_by_sentinel.clear()
        for report in self._rank_by_report:
            report.close()
        self._rank_by_report.clear()
        self._resources.close()


def start(
    func: Callable[..., Any],
    args: Sequence[Any],
    nprocs: int,
    *,
    daemon: bool = False,
    start_method: str = "spawn",
    backend: str = "auto",
    devices: Sequence[str | None] | None = None,
) -> SpawnContext:
    """Start ``func(*args)`` in ``nprocs`` processes with the environment of a one-host job."""
    context = multiprocessing.get_context(start_method)
    with ExitStack() as stack:
        token = secrets.token_hex(16)
        server = stack.enter_context(StoreServer(bind_listener(LOOPBACK), token))
        reserved = [stack.enter_context(bind_listener(LOOPBACK)) for _ in range(nprocs)]
        job = Job(
            endpoints=[str(endpoint_of(listener)) for listener in reserved],
            master=str(server.endpoint),
            token=token,
            nproc=nprocs,
            backend=backend,
            num_threads=max(1, (os.cpu_count() or 1) // nprocs),
        )
        inherited = env.everything()
        processes, reports = [], []
        for rank in range(nprocs):
            variables = worker_env(job, rank, devices[rank] if devices else None, inherited)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(  # type: ignore[attr-defined]
                target=_child, args=(func, tuple(args), variables, os.getpid(), sender), daemon=daemon, name=f"spawn-{rank}"
            )
            process.start()
            sender.close()
            processes.append(process)
            reports.append(receiver)
        return SpawnContext(processes, reports, stack.pop_all())
