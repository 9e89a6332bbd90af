"""Which gradients travel together. Pure functions on sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True)
class Item:
    """One gradient: its index among the parameters, its element count and dtype."""

    index: int
    numel: int
    dtype: torch.dtype

    @property
    def num_bytes(self) -> int:
        return self.numel * self.dtype.itemsize


def plan(items: Sequence[Item], bucket_bytes: int, last_bucket_bytes: int) -> list[tuple[int, ...]]:
    """Split gradients, given in the order in which they arrive, into buckets in the order in which they are launched.

    A bucket has one dtype and is closed as soon as it holds ``bucket_bytes``. The last one, whose reduction nothing can hide, is filled
    from the end and closed at ``last_bucket_bytes``. An item larger than the limit has a bucket to itself or ends one.
    """
    open_by_dtype: dict[torch.dtype, list[Item]] = {}
    closed: list[list[Item]] = []
    limit = last_bucket_bytes
    for item in reversed(items):
        held = open_by_dtype.setdefault(item.dtype, [])
        held.append(item)
        if sum(other.num_bytes for other in held) >= limit:
            closed.append(open_by_dtype.pop(item.dtype))
            limit = bucket_bytes
    closed.extend(open_by_dtype.values())
    position = {item.index: at for at, item in enumerate(items)}
    buckets = [sorted((item.index for item in bucket), key=position.__getitem__) for bucket in closed]
    # a bucket can be launched when its last gradient is there
    buckets.sort(key=lambda bucket: position[bucket[-1]])
    return [tuple(bucket) for bucket in buckets]


def offsets(numels: Sequence[int], alignment: int) -> tuple[list[int], int]:
    """Where each gradient starts in a bucket, in elements, each on a multiple of ``alignment``, and the total."""
    starts, total = [], 0
    for numel in numels:
        starts.append(total)
        total += -(-numel // alignment) * alignment
    return starts, total
