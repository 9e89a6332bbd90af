"""How fast hosts exchange gradients and a rank computes, measured."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.group import Group

_LIMIT_S = 2.0
_FIRST_BYTES, _MOST_BYTES = 1 << 17, 1 << 25
_ENOUGH_S = 0.3  # of one exchange: more of it would say no more
_SIDE = 512


def measure_link(group: Group, limit_s: float = _LIMIT_S) -> tuple[float, float]:
    """Bytes per second of a bucket, and additions and multiplications per second of matrix
    products; the same on every rank, for the slowest decides. Takes up to about ``limit_s``. All
    ranks call it.
    """
    backend = group.transport
    size, started = _FIRST_BYTES, time.perf_counter()
    while True:
        spent_s = group.run(_slowest, backend, lambda n=size: _exchange(backend, n))
        total_s = group.run(_slowest, backend, lambda: started)
        if spent_s >= _ENOUGH_S or total_s + 2 * spent_s > limit_s or 2 * size > _MOST_BYTES:
            break
        size *= 2
    return size / spent_s, 2.0 * _SIDE**3 / group.run(_slowest, backend, _multiply)


def _slowest(backend: Backend, work: Callable[[], float]) -> float:
    """Seconds since the moment that ``work`` returns, the most that any rank finds."""
    began = work()
    value = torch.tensor(time.perf_counter() - began, dtype=torch.float64)
    backend.all_reduce(value, ReduceOp.MAX)
    return value.item()


def _exchange(backend: Backend, num_bytes: int) -> float:
    bucket = backend.make_bucket(num_bytes // 4, torch.float32)
    try:
        bucket.tensor.zero_()
        backend.barrier()
        began = time.perf_counter()
        bucket.publish()
        bucket.finish()
    finally:
        bucket.close()
    return began


def _multiply() -> float:
    matrix = torch.ones(_SIDE, _SIDE)
    matrix @ matrix  # the first one sets things up
    began = time.perf_counter()
    matrix @ matrix
    return began
