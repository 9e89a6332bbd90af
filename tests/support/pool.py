"""A warm pool of worker processes for tests.

``import torch`` takes seconds, so processes are started once and reused. ``Pool.run`` calls
``module:function(rank, world_size, **kwargs)`` on the first ``world_size`` workers and returns the
results in rank order. A worker that dies or does not answer in time is reported with its rank; it
is killed, awaited and replaced before the next run, as are the ranks that were left waiting for it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

_PR_SET_PDEATHSIG = 1
POOLS: list[Pool] = []  # that are open


class WorkerFailed(AssertionError):
    """A rank raised, died or was too slow; the message says which and shows its traceback."""


@dataclass(frozen=True)
class Died:
    """In place of a result: the worker's process ended, which the caller had announced."""

    exit_code: int


@dataclass(frozen=True)
class _Raised:
    text: str


def _work(conn: Connection, parent_pid: int) -> None:
    """The life of a worker: run what is asked for until the pool hangs up."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            target, rank, world_size, kwargs, deadline_s = conn.recv()
        except EOFError:
            return
        faulthandler.dump_traceback_later(deadline_s)
        try:
            module, _, function = target.partition(":")
            answer = getattr(importlib.import_module(module), function)(rank, world_size, **kwargs)
        except BaseException:
            answer = _Raised(traceback.format_exc())
        finally:
            faulthandler.cancel_dump_traceback_later()
        conn.send(answer)


def _collect(rank: int, world_size: int) -> None:
    gc.collect()


class _Worker:
    def __init__(self, index: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.conn, child = context.Pipe()
        self.process = context.Process(
            target=_work, args=(child, os.getpid()), name=f"pool-{index}", daemon=True
        )
        self.process.start()
        child.close()

    def descriptors(self) -> list[int]:
        """What this process holds open for the worker."""
        return [self.conn.fileno(), *self.process._popen.finalizer._args]  # type: ignore[attr-defined]

    def kill(self) -> int:
        """End and await the process; return its exit code."""
        self.conn.close()
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        assert code is not None
        return code


class Pool:
    """Workers by index; started when first needed."""

    def __init__(self, max_workers: int = 4) -> None:
        self.max_workers = max_workers
        self._workers: dict[int, _Worker] = {}
        POOLS.append(self)

    def run(
        self,
        target: str,
        world_size: int,
        *,
        deadline_s: float = 30.0,
        may_die: Collection[int] = (),
        **kwargs: Any,
    ) -> list[Any]:
        """Call ``target`` on ranks 0 to ``world_size - 1`` and return what each returned.

        WorkerFailed with every traceback if a rank raises, dies (unless it is in ``may_die``: its
        result is ``Died``) or takes longer.
        """
        assert world_size <= self.max_workers
        for rank in range(world_size):
            if rank not in self._workers:
                self._workers[rank] = _Worker(rank)
        for rank in range(world_size):
            self._workers[rank].conn.send((target, rank, world_size, kwargs, deadline_s))
        answers = self._collect(world_size, time.monotonic() + deadline_s)
        problems = [
            f"rank {rank} of {target}: {answer.text}"
            for rank, answer in answers.items()
            if isinstance(answer, _Raised)
        ]
        for rank, answer in answers.items():
            if isinstance(answer, Died) and rank not in may_die:
                problems.insert(
                    0, f"rank {rank} of {target} died with exit code {answer.exit_code}"
                )
        late = [rank for rank in range(world_size) if rank not in answers]
        if late:
            problems.append(f"ranks {late} of {target} did not answer within {deadline_s:g} s")
            self._replace(late)
        if problems:
            raise WorkerFailed("\n".join(problems))
        return [answers[rank] for rank in range(world_size)]

    def _collect(self, world_size: int, until: float) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        rank_by_conn = {self._workers[rank].conn: rank for rank in range(world_size)}
        while rank_by_conn:
            ready = wait(list(rank_by_conn), max(0.0, until - time.monotonic()))
            if not ready:
                break
            for conn in ready:
                rank = rank_by_conn.pop(conn)  # type: ignore[call-overload]
                try:
                    answers[rank] = conn.recv()  # type: ignore[union-attr]
                except (EOFError, ConnectionResetError):
                    worker = self._workers.pop(rank)
                    # it hung up because it ends; kill() must not overwrite its exit code
                    worker.process.join()
                    answers[rank] = Died(worker.kill())
        return answers

    def collect(self) -> None:
        """Have the workers drop what their cycles keep."""
        if self._workers:
            self.run(f"{__name__}:_collect", max(self._workers) + 1)

    def _replace(self, ranks: Collection[int]) -> None:
        for rank in ranks:
            self._workers.pop(rank).kill()

    def close(self) -> None:
        """Kill and await every worker."""
        self._replace(list(self._workers))
        POOLS.remove(self)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
