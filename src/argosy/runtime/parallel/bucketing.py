"""Which gradients travel together. Pure functions on sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch


@dataclass(frozen=True, kw_only=True)
class Item:
    """One gradient: its index among the parameters, its element count and dtype, and whether it
    travels alone.
    """

    index: int
    numel: int
    dtype: torch.dtype
    is_alone: bool = False

    @property
    def num_bytes(self) -> int:
        return self.numel * self.dtype.itemsize


@dataclass
class _Open:
    """A bucket that is being filled, from its last gradient to its first."""

    indices: list[int] = field(default_factory=list)
    num_bytes: int = 0


def plan(items: Sequence[Item], bucket_bytes: int, last_bucket_bytes: int) -> list[tuple[int, ...]]:
    """Split gradients, given in the order in which they arrive, into buckets in the order in which
    they are launched.

    A bucket has one dtype and is closed as soon as it holds ``bucket_bytes``. The last one, whose
    reduction nothing can hide, is filled from the end and closed at ``last_bucket_bytes``. An item
    larger than the limit has a bucket to itself or ends one; one that travels alone has one.
    """
    filling: dict[torch.dtype, _Open] = {}
    closed: list[_Open] = []
    limit = last_bucket_bytes
    for item in reversed(items):
        if item.is_alone:
            closed.append(_Open([item.index], item.num_bytes))
            continue
        bucket = filling.setdefault(item.dtype, _Open())
        bucket.indices.append(item.index)
        bucket.num_bytes += item.num_bytes
        if bucket.num_bytes >= limit:
            closed.append(filling.pop(item.dtype))
            limit = bucket_bytes
    closed.extend(filling.values())
    position = {item.index: at for at, item in enumerate(items)}
    # a bucket can be launched when its last gradient, the first that was put in, is there
    closed.sort(key=lambda bucket: position[bucket.indices[0]])
    return [tuple(reversed(bucket.indices)) for bucket in closed]


def offsets(numels: Sequence[int], alignment: int) -> tuple[list[int], int]:
    """Where each gradient starts in a bucket, in elements, each on a multiple of ``alignment``, and
    the total.
    """
    starts, total = [], 0
    for numel in numels:
        starts.append(total)
        total += -(-numel // alignment) * alignment
    return starts, total
