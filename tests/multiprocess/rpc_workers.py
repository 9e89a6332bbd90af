"""What the workers do in the tests of ``paddle.distributed.rpc``."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.distributed import rpc
from support.job import environment, job_variables

seen: list[int] = []


def note(rank: int) -> int:
    seen.append(rank)
    return len(seen)


def scale(values: np.ndarray, by: float) -> np.ndarray:
    return values * by


def relay(names: list[str]) -> list[str]:
    """Let each worker call the next, and the last one answer."""
    here = rpc.get_current_worker_info().name
    return [here] if not names else [here, *rpc.rpc_sync(names[0], relay, (names[1:],))]


def everyone_calls_everyone(rank: int, world_size: int, meeting: dict[str, Any]) -> Any:
    seen.clear()
    with environment(job_variables(rank, world_size, meeting)):
        rpc.init_rpc(f"worker{rank}")
        infos = rpc.get_all_worker_infos()
        assert [info.rank for info in infos] == list(range(world_size))
        values = np.arange(100_000, dtype="float64")
        calls = [rpc.rpc_async(info.name, scale, (values, info.rank)) for info in infos]
        for info, call in zip(infos, calls, strict=True):
            assert np.array_equal(call.wait(), values * info.rank)
        rpc.rpc_sync(f"worker{(rank + 1) % world_size}", note, (rank,))
        names = [f"worker{n}" for n in range(world_size)]
        path = rpc.rpc_sync(names[-1], relay, (names,)) if rank == 0 else None
        rpc.shutdown()
        return path, list(seen)


def twice(rank: int, world_size: int, meeting: dict[str, Any]) -> list[int]:
    """A second meeting in the same store, under other names."""
    counts = []
    with environment(job_variables(rank, world_size, meeting)):
        for name in "ab":
            rpc.init_rpc(f"{name}{rank}")
            counts.append(rpc.rpc_sync(f"{name}0", abs, (-rank,)))
            rpc.shutdown()
    return counts
