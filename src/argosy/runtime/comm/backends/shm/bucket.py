"""A bucket whose memory lies in a segment that every rank maps.

::

    0               control blocks, as in the group's segment (``layout.py``)
    page            row of rank 0
    + row_bytes     row of rank 1
    ...

A round takes two steps: *ready* (all rows are filled) and *done* (all shares are averaged). Each
rank averages its own share of the columns, in all rows at once: it reads S and writes S bytes, and
nothing is copied in or out. Of two ranks, each may write into the other's row past its own caches
(``lines.py``), with the same bits; a large bucket finds out whether that is faster (``trial.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Protocol

import numpy as np
import torch

from argosy.foundation.trace import PUBLISHED, REDUCED, trace
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.compiled import kernels
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.trial import Trial
from argosy.runtime.comm.bucket import Bucket, tell

_LASTING = 2  # the round in which a bucket is worth huge pages: many are replaced after their first
# From this size on the share is added up in the better of two ways. Which one that is depends on
# what the cores have in common and on who has written the rows: of a bucket of 4 MB, in a training
# step of two cores without a common cache, 100 us past the caches and 165 us through them; of one
# that nobody writes between two rounds, through them.
_LARGE_SHARE_BYTES = 256 << 10
_SHARE_ALIGNMENT = 16  # elements; no two ranks write to one cache line


class Owner(Protocol):
    """The rank's end of the group in which the bucket is averaged."""

    name: str
    rank: int
    world_size: int

    def check_member(self, call: str) -> None:
        """An error in a process that was forked from this rank."""

    def wait_at(self, base: int, step: int, activity: str | None = None) -> None:
        """Wait until all ranks have published ``step`` in the control blocks at ``base``."""


class ShmBucket(Bucket):
    """Made by ``ShmBackend.make_bucket``, by all ranks together."""

    def __init__(
        self, owner: Owner, segment: Segment, numel: int, dtype: torch.dtype, number: int = 0
    ) -> None:
        self._owner = owner
        self._number = number
        self._segment = segment
        n = owner.world_size
        rows = torch.from_numpy(
            segment.array(bucket_offset(n), (n, row_bytes(numel, dtype)), np.uint8)
        ).view(dtype)
        self._memory, self._stride = rows.view(-1), rows.shape[1]
        self._rows = rows[:, :numel]
        self._row_by_rank = list(self._rows)
        self.tensor = self._row_by_rank[owner.rank]
        self._start, self._stop = share_of(numel, owner.rank, n)
        # whether the other rank's row is better written past the caches
        is_large = (self._stop - self._start) * dtype.itemsize >= _LARGE_SHARE_BYTES
        self._past_caches = Trial() if n == 2 and is_large else None
        self._round = 0
        self._is_share_done = True

    def publish(self) -> None:
        self._owner.check_member("backward of DataParallel")
        began_ns = perf_counter_ns() if trace.recordings else 0
        self._round += 1
        if self._round == _LASTING:
            size = self._stride * self._rows.dtype.itemsize
            self._segment.use_huge_pages(
                bucket_offset(self._owner.world_size) + self._owner.rank * size, size
            )
        self._is_share_done = False
        kernels.arrive(self._segment.address, self._owner.rank, 2 * self._round - 1)
        if began_ns:
            tell(PUBLISHED, self._owner.name, self._number, self._round, began_ns, self.tensor)

    def progress(self) -> bool:
        if not self._is_share_done and kernels.have_arrived(
            self._segment.address, self._owner.world_size, 2 * self._round - 1
        ):
            self._average_share()
        return self._is_share_done

    def is_complete(self) -> bool:
        done, n = 2 * self._round, self._owner.world_size
        return self._is_share_done and bool(kernels.have_arrived(self._segment.address, n, done))

    def finish(self) -> None:
        activity = f"the average of gradients in backward #{self._round} (bucket {self._number})"
        if not self._is_share_done:
            self._owner.wait_at(self._segment.address, 2 * self._round - 1, activity)
            self._average_share()
        self._owner.wait_at(self._segment.address, 2 * self._round, activity)

    def gathered(self) -> Sequence[torch.Tensor]:
        activity = f"the exchange of rows in backward #{self._round} (bucket {self._number})"
        self._owner.wait_at(self._segment.address, 2 * self._round - 1, activity)
        return self._row_by_rank

    def _average_share(self) -> None:
        began_ns = perf_counter_ns() if trace.recordings else 0
        scale = 1.0 / self._owner.world_size
        if self._rows.dtype in (torch.float32, torch.float64):
            self._average_floats(scale)
        else:
            share = self._rows[:, self._start : self._stop]
            total = share[0].float()
            for row in share[1:]:
                total += row
            share.copy_((total * scale).to(share.dtype).expand_as(share))
        self._is_share_done = True
        kernels.arrive(self._segment.address, self._owner.rank, 2 * self._round)
        if began_ns:
            share = self.tensor[self._start : self._stop]
            tell(REDUCED, self._owner.name, self._number, self._round, began_ns, share)

    def _average_floats(self, scale: float) -> None:
        memory, n = self._memory.numpy(), self._owner.world_size
        trial, began_ns = self._past_caches, 0
        if trial is not None and not trial.is_over and self._round > _LASTING:
            began_ns = perf_counter_ns()
        if trial is not None and trial.way:
            rank = self._owner.rank
            kernels.sum_past_caches(memory, self._stride, rank, self._start, self._stop, scale)
        else:
            kernels.sum_everywhere(memory, self._stride, n, self._start, self._stop, scale)
        if trial is not None and began_ns:
            trial.note(perf_counter_ns() - began_ns)

    def close(self) -> None:
        self._memory = self._rows = self.tensor = torch.empty(0)
        self._row_by_rank = []
        self._segment.close()


def share_of(numel: int, rank: int, world_size: int) -> tuple[int, int]:
    """The elements that ``rank`` adds up for all: first and end."""
    blocks = -(-numel // _SHARE_ALIGNMENT)
    start, stop = (
        min(blocks * r // world_size * _SHARE_ALIGNMENT, numel) for r in (rank, rank + 1)
    )
    return start, stop


def bucket_offset(world_size: int) -> int:
    return -(-world_size * layout.CONTROL_BYTES // layout.PAGE) * layout.PAGE


def row_bytes(numel: int, dtype: torch.dtype) -> int:
    """Bytes of one row: whole pages, so that rows are placed on the node of the rank that fills
    them.
    """
    return max(1, -(-numel * dtype.itemsize // layout.PAGE)) * layout.PAGE
