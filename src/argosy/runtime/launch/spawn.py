"""Running a function in several new processes: the machinery of ``paddle.distributed.spawn``."""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch

from argosy.foundation import env
from argosy.foundation.errors import ChildFailed
from argosy.runtime.comm.store_server import StoreFailed, StoreServer
from argosy.runtime.launch.collective_job import place_here
from argosy.runtime.launch.machine import this_machine
from argosy.runtime.launch.planners import collective
from argosy.runtime.launch.process import die_with_parent
from argosy.runtime.launch.report import end_of
from argosy.runtime.launch.spec import LaunchSpec

_GRACE_S = 10.0


def _child(
    func: Callable[..., Any],
    args: Sequence[Any],
    variables: Mapping[str, str],
    parent: int | None,
    report: Any,
) -> None:
    if parent is not None:
        die_with_parent(parent)
    else:
        threading.Thread(
            target=_outlive_not_the_parent, name="argosy-parent-watch", daemon=True
        ).start()
    env.replace(variables)
    # torch has been imported by now, and reads the variable no more
    torch.set_num_threads(env.integer("OMP_NUM_THREADS", 1))
    try:
        report.send((True, func(*args)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BaseException as error:
        code = error.code if isinstance(error, SystemExit) else 1
        if code in (None, 0):
            return
        report.send((False, (time.monotonic(), traceback.format_exc())))
        sys.exit(code if isinstance(code, int) else 1)


def _outlive_not_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


class SpawnContext:
    """The processes that were started. ``join()`` waits for them; the first that fails ends the
    others.
    """

    def __init__(
        self,
        processes: Sequence[Any],
        reports: Sequence[Any],
        resources: ExitStack,
        server: StoreServer,
    ) -> None:
        self.processes = list(processes)
        self.return_queues: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in processes]
        self._rank_by_report = {report: rank for rank, report in enumerate(reports)}
        self._rank_by_end = {_end_of(process): rank for rank, process in enumerate(processes)}
        # when, on the clock that all processes share, and the traceback
        self._error_by_rank: dict[int, tuple[float, str]] = {}
        self._resources = resources
        self._server = server
        self._failure: ChildFailed | StoreFailed | None = None

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the processes; True once all have ended well, False after ``timeout`` seconds.

        ChildFailed, with the rank and its traceback, when one failed, StoreFailed when the store
        did through which they meet; the others have been ended by then.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            while self._rank_by_end and self._failure is None:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                # Reports are read while their sender still runs: a large result does not fit into
                # the pipe.
                ready = multiprocessing.connection.wait(
                    [*self._rank_by_report, *self._rank_by_end, self._server.sentinel], left
                )
                if not ready:
                    return False
                if self._has_lost_store():
                    break
                for report in [item for item in ready if item in self._rank_by_report]:
                    self._read(report)
                self._reap([self._let_go(item) for item in ready if item in self._rank_by_end])
        except BaseException:  # Ctrl-C: nobody will wait for them any more
            self.terminate()
            raise
        if self._failure is not None:
            raise self._failure
        self._resources.close()
        return True

    def _has_lost_store(self) -> bool:
        try:
            self._server.check()
        except StoreFailed as error:
            self.terminate()
            self._failure = error
        return self._failure is not None

    def _read(self, report: Any) -> None:
        rank = self._rank_by_report.pop(report)
        try:
            is_result, value = report.recv()
        except (EOFError, OSError):
            return
        finally:
            report.close()
        if is_result:
            self.return_queues[rank].put(value)
        else:
            self._error_by_rank[rank] = value

    def _let_go(self, end: int) -> int:
        os.close(end)
        return self._rank_by_end.pop(end)

    def _reap(self, ended: Sequence[int]) -> None:
        for rank in ended:
            self.processes[rank].join()
        if all(self.processes[rank].exitcode == 0 for rank in ended):
            return
        for report in list(self._rank_by_report):
            if report.poll():
                self._read(report)
        # a process that could not even report was killed; those whose peer it was fail after it
        at_s = {
            rank: self._error_by_rank.get(rank, (-math.inf, ""))[0]
            for rank in ended
            if self.processes[rank].exitcode != 0
        }
        at_s |= {rank: when for rank, (when, _) in self._error_by_rank.items()}
        first = min(at_s, key=at_s.__getitem__)
        for end in [end for end, rank in self._rank_by_end.items() if rank == first]:
            multiprocessing.connection.wait([end], _GRACE_S)
        exit_code = self.processes[first].exitcode
        self.terminate()
        words = end_of(
            f"process {first} (pid {self.processes[first].pid})",
            1 if exit_code is None else exit_code,
            "the other processes were ended.",
        )
        message = f"spawn: {words}"
        text = self._error_by_rank.get(first, (0.0, ""))[1]
        self._failure = ChildFailed(f"{message}\n\n{text}" if text else message)

    def terminate(self) -> None:
        """End every process that still runs."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for end in list(self._rank_by_end):
            is_over = multiprocessing.connection.wait([end], max(0.0, deadline - time.monotonic()))
            process = self.processes[self._let_go(end)]
            if not is_over:
                process.kill()
            process.join()
        for report in self._rank_by_report:
            report.close()
        self._rank_by_report.clear()
        self._resources.close()


def _end_of(process: Any) -> int:
    """A descriptor that becomes readable when the process ends; its sentinel does so only when no
    child of it is left either.
    """
    try:
        return os.pidfd_open(process.pid)
    except ProcessLookupError:  # of a forkserver, which has reaped it
        return os.dup(process.sentinel)


def start(
    func: Callable[..., Any],
    args: Sequence[Any],
    nprocs: int,
    *,
    daemon: bool = False,
    start_method: str = "spawn",
    backend: str = "auto",
    devices: Sequence[str] = (),
) -> SpawnContext:
    """Start ``func(*args)`` in ``nprocs`` processes with the environment of a one-host job;
    ``devices`` has the cards of each.
    """
    context = multiprocessing.get_context(start_method)
    # the kernel kills a child when the *thread* that made it ends: of use where that lives as long
    # as this process
    is_made_here = (
        start_method != "forkserver" and threading.current_thread() is threading.main_thread()
    )
    parent = os.getpid() if is_made_here else None
    processes: list[Any] = []
    reports: list[Any] = []
    spec = LaunchSpec(
        script="", nproc=nprocs, devices=tuple(devices), backend=backend, log_dir=None
    )
    with ExitStack() as stack:
        roster, server = place_here(spec, stack)
        # no launcher, no pod; and `paddle` is for the functions what it is here
        machine = replace(this_machine(), environment=env.everything(), pod_name="")
        job = collective.plan(spec, roster, machine)
        try:
            for planned in job.processes:
                receiver, sender = context.Pipe(duplex=False)
                reports.append(receiver)
                with sender:
                    process = context.Process(  # type: ignore[attr-defined]
                        target=_child,
                        args=(func, tuple(args), planned.environment, parent, sender),
                        daemon=daemon,
                        name=f"spawn-{planned.member.rank}",
                    )
                    process.start()
                processes.append(process)
        except BaseException:
            SpawnContext(processes, reports, stack.pop_all(), server).terminate()
            raise
        return SpawnContext(processes, reports, stack.pop_all(), server)
