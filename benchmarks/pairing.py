"""What the benchmarks of several processes share: a torch process group beside argosy's, blocks
that alternate, medians.
"""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import paddle.distributed as dist


def join_torch(address: str = "127.0.0.1") -> None:
    """Make torch's default gloo group of the same ranks, at a port that the kernel chooses for rank
    0, which has this address.
    """
    rank, timeout = dist.get_rank(), datetime.timedelta(seconds=120)
    store: Any = None
    if rank == 0:
        store = torch.distributed.TCPStore(
            address, 0, is_master=True, wait_for_workers=False, timeout=timeout
        )
    port = [store.port if store is not None else 0]
    dist.broadcast_object_list(port, src=0)
    if store is None:
        store = torch.distributed.TCPStore(address, port[0], is_master=False, timeout=timeout)
    torch.distributed.init_process_group(
        "gloo", store=store, rank=rank, world_size=dist.get_world_size(), timeout=timeout
    )


def alternate(
    calls: dict[str, Callable[[], Any]],
    rounds: int,
    repeats: int,
    cpu_seconds: dict[str, list[float]] | None = None,
) -> dict[str, list[float]]:
    """Seconds per call of each entry in each round; in a round every entry runs ``repeats`` times,
    after a barrier. ``cpu_seconds`` is filled with the processor time per call, that of all threads
    of this process.

    Rounds begin with different entries, so that none always follows the same other one and its
    caches and threads.
    """
    for call in calls.values():
        for _ in range(3):
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    turns = list(calls.items())
    for number in range(rounds):
        for name, call in turns[number % len(turns) :] + turns[: number % len(turns)]:
            dist.barrier()
            start, cpu_start = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                call()
            seconds[name].append((time.perf_counter() - start) / repeats)
            if cpu_seconds is not None:
                used = (time.process_time() - cpu_start) / repeats
                cpu_seconds.setdefault(name, []).append(used)
    return seconds


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """The median of the ratios of neighbouring blocks."""
    return statistics.median(a / b for a, b in zip(numerator, denominator, strict=True))
