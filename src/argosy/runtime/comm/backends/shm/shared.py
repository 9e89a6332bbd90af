"""Tensors whose memory the other ranks of a group can map, so that their sums are made in place.

A rank makes one on its own (``allocate``), without a word to the others. It says with each
``all_reduce`` whether the tensor is such a one, by its number; if all ranks say so, each takes its
share of the elements, adds them up in the tensors of all ranks, and writes the sums there: nothing
is copied in or out. Ranks that meet with these tensors for the first time exchange handles before;
all of them have seen the same numbers, so all know that it is the first time.

A tensor is forgotten, and with it the mapped tensors of the others, when its last view is gone.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from argosy.runtime.comm.backends.shm.segment import (
    Segment,
    collapse,
    handle_of_tensor,
    handle_tensor,
)
from argosy.runtime.comm.backends.shm.share import LASTING, Share

# below it, copying through the group's buffers takes as long as a second step
LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class _Own:
    """A tensor of this rank; it does not keep the memory."""

    number: int
    num_bytes: int
    handle: str


class _Met:
    """Tensors of all ranks that were summed together: this rank's share, and what keeps the others
    mapped.
    """

    def __init__(self, share: Share, others: Sequence[Segment]) -> None:
        self.share = share
        self._others = others


class SharedTensors:
    """Those of one rank in one group."""

    def __init__(self, name: str, rank: int) -> None:
        self._name = name
        self._rank = rank
        self._numbers = itertools.count(1)
        # changed by whichever thread drops the last view of a tensor; single calls are atomic
        self._own: dict[int, _Own] = {}  # by address
        self._met: dict[tuple[int, ...], _Met] = {}  # by the numbers of all ranks' tensors

    def allocate(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """Make a flat tensor of zeros."""
        num_bytes = max(1, numel * dtype.itemsize)
        segment = Segment.create(f"{self._name}-tensor", num_bytes)
        memory = segment.array(0, (num_bytes,), np.uint8)
        number = next(self._numbers)
        self._own[segment.address] = _Own(number, num_bytes, segment.handle)
        # the storage of the tensor holds the array, and the array the segment's memory
        weakref.finalize(memory, self._forget, segment.address, number).atexit = False
        return torch.from_numpy(memory)[: numel * dtype.itemsize].view(dtype)

    def _forget(self, address: int, number: int) -> None:
        self._own.pop(address, None)
        for numbers in list(self._met):
            if numbers[self._rank] == number:
                self._met.pop(numbers, None)

    def number_of(self, tensor: torch.Tensor) -> int:
        """The number of a contiguous ``tensor`` that begins where a shared one does; 0 of
        others.
        """
        own = self._own.get(tensor.data_ptr())
        return own.number if own is not None and tensor.nbytes <= own.num_bytes else 0

    def share(
        self,
        numbers: tuple[int, ...],
        dtype: torch.dtype,
        exchange: Callable[[torch.Tensor], Sequence[torch.Tensor]],
    ) -> Share:
        """This rank's share of the tensors of all ranks with these ``numbers``. Ranks that have not
        met with them before ``exchange`` handles.
        """
        met = self._met.get(numbers)
        if met is None:
            met = self._met[numbers] = self._meet(numbers[self._rank], dtype, exchange)
        if met.share.num_sums == LASTING - 1:  # this sum shows that they are going to last
            own = int(met.share.addresses[self._rank])
            collapse(own, self._own[own].num_bytes)
        return met.share

    def _meet(
        self,
        number: int,
        dtype: torch.dtype,
        exchange: Callable[[torch.Tensor], Sequence[torch.Tensor]],
    ) -> _Met:
        address, own = next((a, own) for a, own in self._own.items() if own.number == number)
        handles = [handle_of_tensor(part) for part in exchange(handle_tensor(own.handle))]
        others = {r: Segment.attach(h) for r, h in enumerate(handles) if r != self._rank}
        found = [others[r].address if r in others else address for r in range(len(handles))]
        return _Met(Share(found, self._rank, dtype), list(others.values()))
