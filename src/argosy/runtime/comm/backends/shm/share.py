"""A rank's share of sums that are made in the memory of all ranks."""

from __future__ import annotations

import statistics
from time import perf_counter_ns

import numpy as np
import numpy.typing as npt
import torch

from argosy.runtime.comm.backends.shm.compiled import kernels
from argosy.runtime.comm.backends.shm.trial import Trial

LASTING = 2  # the sum at which memory is worth huge pages: many are replaced after their first
_ALIGNMENT = 16  # elements; no two ranks write to one cache line

# From this size on a share between two ranks is added up in the better of two ways. Which one that
# is depends on what the cores have in common and on who has written the rows: of a bucket of 4 MB,
# in a training step of two cores without a common cache, 100 us past the caches and 165 us through
# them; of one that nobody writes between two sums, through them.
_LARGE_BYTES = 256 << 10
_NUM_TURNS = 18  # the time of one depends on what the other rank does meanwhile


def share_of(numel: int, rank: int, world_size: int) -> tuple[int, int]:
    """The elements that ``rank`` adds up for all: first and end."""
    blocks = -(-numel // _ALIGNMENT)
    start, stop = (min(blocks * r // world_size * _ALIGNMENT, numel) for r in (rank, rank + 1))
    return start, stop


class Share:
    """What ``rank`` adds up of float32 or float64 numbers that all ranks have at ``addresses``,
    each at the beginning of a page.
    """

    def __init__(self, addresses: list[int], rank: int, dtype: torch.dtype) -> None:
        self.addresses = np.array(addresses, np.int64)
        self._rank = rank
        self._like: npt.NDArray[np.floating] = np.empty(
            0, np.float64 if dtype is torch.float64 else np.float32
        )
        # whether what belongs to the other rank is better written past the caches
        self._past_caches = Trial(_NUM_TURNS if len(addresses) == 2 else 0, statistics.median)
        self.num_sums = 0

    def sum(self, numel: int, scale: float, divisor: int = 1) -> None:
        """Replace the share of the first ``numel`` numbers of all ranks by their sum times
        ``scale`` and divided by ``divisor``.
        """
        self.num_sums += 1
        trial, (start, stop) = self._past_caches, share_of(numel, self._rank, len(self.addresses))
        is_large = (stop - start) * self._like.itemsize >= _LARGE_BYTES
        is_tried = is_large and not trial.is_over and self.num_sums > LASTING
        began_ns = perf_counter_ns() if is_tried else 0
        if is_large and trial.way and divisor == 1:
            args = (self.addresses, self._rank, start, stop, scale, self._like)
            kernels.sum_past_caches(*args)
        else:
            kernels.sum_in_place(self.addresses, start, stop, scale, divisor, self._like)
        if is_tried:
            trial.note(perf_counter_ns() - began_ns)
