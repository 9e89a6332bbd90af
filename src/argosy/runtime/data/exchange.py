"""Samples to other workers: each worker says where each of its samples goes, arrays travel, and
each ends up with those sent to it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.errors import CommError
from argosy.runtime.comm.group import Group
from argosy.runtime.data.records import Records, concatenated

_FIELDS = ("counts", "ids", "floats", "keys")


def draw_workers(count: int, num_workers: int, seed: int) -> npt.NDArray[np.int64]:
    """A worker for each of ``count`` samples, from a hash of ``seed`` and the sample's number."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint64) + np.uint64(seed & 0xFFFFFFFFFFFFFFFF) * np.uint64(
            0x9E3779B97F4A7C15
        )
        return _mixed(x, num_workers)


def workers_of_keys(keys: npt.NDArray[np.uint64], num_workers: int) -> npt.NDArray[np.int64]:
    """The worker at which all samples with the same id meet."""
    with np.errstate(over="ignore"):
        return _mixed(keys, num_workers)


def _mixed(x: npt.NDArray[np.uint64], num_workers: int) -> npt.NDArray[np.int64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(num_workers)).astype(np.int64)


def exchange(group: Group, records: Records, workers: npt.NDArray[np.int64]) -> Records:
    """Send sample i to rank ``workers[i]``; returns what came, from rank 0 first. Every rank of
    ``group`` calls it.
    """
    order = np.argsort(workers, kind="stable")
    ends = np.searchsorted(workers[order], np.arange(group.nranks + 1))
    sorted_records = records.take(order)
    mine = [sorted_records.slice(int(a), int(b)) for a, b in pairwise(ends)]
    num_slots = len(records.is_float)
    sizes = [torch.tensor([num_slots, *(getattr(part, f).size for f in _FIELDS)]) for part in mine]
    announced = [torch.empty(1 + len(_FIELDS), dtype=torch.int64) for _ in mine]
    group.run(group.transport.all_to_all, announced, sizes)
    for rank, head in enumerate(announced):
        if int(head[0]) != num_slots:
            raise CommError(
                f"a shuffle over the workers: rank {rank} has {int(head[0])} slots, this one "
                f"{num_slots}"
            )
    columns = [
        _send(group, mine, field, [int(head[1 + i]) for head in announced])
        for i, field in enumerate(_FIELDS)
    ]
    parts = [
        Records(counts.reshape(-1, num_slots), ids, floats, keys, records.is_float)
        for counts, ids, floats, keys in zip(*columns, strict=True)
    ]
    return concatenated(parts, records.is_float)


def _send(
    group: Group, parts: list[Records], field: str, sizes: list[int]
) -> list[npt.NDArray[Any]]:
    """One array of each part to the rank it is for, as bytes: not every dtype is one of every
    backend.
    """
    arrays = [np.ascontiguousarray(getattr(part, field)) for part in parts]
    dtype = arrays[0].dtype
    inputs = [torch.from_numpy(array.reshape(-1).view(np.uint8).copy()) for array in arrays]
    outputs = [torch.empty(size * dtype.itemsize, dtype=torch.uint8) for size in sizes]
    group.run(group.transport.all_to_all, outputs, inputs)
    return [out.numpy().view(dtype) for out in outputs]
