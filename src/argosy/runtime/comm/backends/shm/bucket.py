"""A bucket whose memory lies in a segment that every rank maps.

::

    0               control blocks, as in the group's segment (``layout.py``)
    page            row of rank 0
    + row_bytes     row of rank 1
    ...

A round takes two steps, READY (all rows are filled) and DONE (all shares are averaged). Each
rank averages its own share of the columns, in all rows at once: it reads S and writes S bytes, and
nothing is copied in or out. Of two ranks, each may write into the other's row past its own caches
(``streaming.py``), with the same bits; a large bucket finds out whether that is faster
(``share.py``).
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
from argosy.runtime.comm.backends.shm.share import LASTING, Share, share_of
from argosy.runtime.comm.bucket import Bucket, tell


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

    _READY, _DONE = 1, 2  # the steps of a round

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
        self._rows = rows[:, :numel]
        self._row_by_rank = list(self._rows)
        self.tensor = self._row_by_rank[owner.rank]
        self._share = Share([row.data_ptr() for row in rows], owner.rank, dtype)
        self._round = 0
        self._is_share_done = True

    def publish(self) -> None:
        self._owner.check_member("backward of DataParallel")
        began_ns = perf_counter_ns() if trace.recordings else 0
        self._round += 1
        if self._round == LASTING:
            size = row_bytes(self._rows.shape[1], self._rows.dtype)
            self._segment.use_huge_pages(
                bucket_offset(self._owner.world_size) + self._owner.rank * size, size
            )
        self._is_share_done = False
        self._arrive(self._first_step())
        if began_ns:
            tell(PUBLISHED, self._owner.name, self._number, self._round, began_ns, self.tensor)

    def progress(self) -> bool:
        if not self._is_share_done and self._have_arrived(self._READY):
            self._average_share()
        return self._is_share_done

    def is_complete(self) -> bool:
        return self._is_share_done and self._have_arrived(self._DONE)

    def finish(self) -> None:
        self.finish_all([self])

    def finish_all(self, buckets: Sequence[Bucket]) -> None:
        """The own share of all of them first, for which others may be waiting."""
        members = [bucket for bucket in buckets if isinstance(bucket, ShmBucket)]
        for bucket in members:
            bucket._bring_share()
        for bucket in members:
            bucket._wait_for(bucket._DONE, "average of gradients")

    def _bring_share(self) -> None:
        """Average the share of this rank, if that is left to do."""
        if not self._is_share_done:
            self._wait_for(self._READY, "average of gradients")
            self._average_share()

    def gathered(self) -> Sequence[torch.Tensor]:
        self._wait_for(self._READY, "exchange of rows")
        return self._row_by_rank

    def _first_step(self) -> int:
        """That of the round which is to begin, from what this rank has brought."""
        return self._READY

    def _arrive(self, step: int) -> None:
        kernels.arrive(self._segment.address, self._owner.rank, self._in_all(step))

    def _have_arrived(self, step: int) -> bool:
        number, n = self._in_all(step), self._owner.world_size
        return bool(kernels.have_arrived(self._segment.address, n, number))

    def _wait_for(self, step: int, what: str) -> None:
        activity = f"the {what} in backward #{self._round} (bucket {self._number})"
        self._owner.wait_at(self._segment.address, self._in_all(step), activity)

    def _in_all(self, step: int) -> int:
        """The number of a step of this round among those of all rounds."""
        return self._DONE * (self._round - 1) + step

    def _average_share(self) -> None:
        began_ns = perf_counter_ns() if trace.recordings else 0
        n, numel = self._owner.world_size, self.tensor.numel()
        mine = slice(*share_of(numel, self._owner.rank, n))
        if self._rows.dtype in (torch.float32, torch.float64):
            self._share.sum(numel, 1.0 / n)
        else:
            share = self._rows[:, mine]
            total = share[0].float()
            for row in share[1:]:
                total += row
            share.copy_((total * (1.0 / n)).to(share.dtype).expand_as(share))
        self._announce_share(began_ns, self.tensor[mine])

    def _announce_share(self, began_ns: int, share: torch.Tensor) -> None:
        """Say that this rank has averaged ``share``, since ``began_ns``, in all rows."""
        self._is_share_done = True
        self._arrive(self._DONE)
        if began_ns:
            tell(REDUCED, self._owner.name, self._number, self._round, began_ns, share)

    def close(self) -> None:
        self._rows = self.tensor = torch.empty(0)
        self._row_by_rank = []
        self._segment.close()


def bucket_offset(world_size: int) -> int:
    return -(-world_size * layout.CONTROL_BYTES // layout.PAGE) * layout.PAGE


def row_bytes(numel: int, dtype: torch.dtype) -> int:
    """Bytes of one row: whole pages, so that rows are placed on the node of the rank that fills
    them.
    """
    return max(1, -(-numel * dtype.itemsize // layout.PAGE)) * layout.PAGE
