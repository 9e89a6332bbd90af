"""What hosts send each other so that the gradient of a matrix becomes its mean: the two factors
whose product it is (``shm/factored.py`` says why), from each host to all others.

A message, whose length says how many samples there are::

    are there factors                                 int64
    with how many threads this host multiplies        int64
    left, then right                                  samples x height, samples x width

Every host makes one product of the factors of all, which lie below each other in the order of the
hosts. So all get the same bits, where products of one shape have the same on all hosts: with as
many threads, on processors that ``digest_of_products`` found to be alike.

What has come is read by the rank, in its own time. A host that has multiplied may send the factors
of its next round before, so there are two rooms for them, which take turns; the factors of the
round after that need this host's next ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterator

import numpy as np
import torch

from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backends.doorway import bytes_of
from argosy.runtime.comm.factors import most_samples

_FORM = 2  # beside those of codecs
_HEAD_BYTES = 16
# Samples, height and width of the products that are compared. Libraries add up the products of many
# samples in parts: of 384 float32 samples on one machine.
_SHAPES = ((128, 512, 512), (48, 1024, 384), (300, 640, 1000), (2100, 256, 320))


class FactorCargo:
    """The factors of a matrix on their way, in one parcel; otherwise as ``Cargo``."""

    num_legs = 1
    packable: torch.dtype | None = None

    def __init__(
        self, place: int, shape: tuple[int, int], dtype: torch.dtype, host: int, num_hosts: int
    ) -> None:
        self.place = place
        self.form = [fingerprint.CODE_BY_DTYPE[dtype], shape[0] * shape[1], _FORM]
        self.factors = FactorParcel(shape, dtype, host, num_hosts)
        self.parcels = [self.factors]

    def drop(self) -> None:
        """Let go of all memory."""
        self.factors.drop()


class FactorParcel:
    """The factors of host ``host``, and those that have come from others."""

    num_legs = 1

    def __init__(
        self, shape: tuple[int, int], dtype: torch.dtype, host: int, num_hosts: int
    ) -> None:
        self._shape, self._dtype, self._host = shape, dtype, host
        self.most = most_samples(shape, num_hosts)
        self._sample_bytes = sum(shape) * dtype.itemsize
        room_bytes = _HEAD_BYTES + self.most * self._sample_bytes
        self._others = [h for h in range(num_hosts) if h != host]
        self._own = torch.zeros(room_bytes, dtype=torch.uint8)
        self._own_bytes = _HEAD_BYTES
        self._rooms = [
            {h: torch.empty(room_bytes, dtype=torch.uint8) for h in self._others} for _ in range(2)
        ]
        self._sizes: list[dict[int, int]] = [{}, {}]  # of what lies in the rooms, in bytes
        self._turn = 0  # the rooms that are filled next; what has come lies in the others

    # -- what this host brings
    # ----------------------------------------------------------------------------------------------

    def offer(self, left: torch.Tensor, right: torch.Tensor) -> bool:
        """Take both to be sent next, rows for samples; False if they are too many."""
        if left.shape[0] > self.most:
            return False
        self._own_bytes = _HEAD_BYTES + left.shape[0] * self._sample_bytes
        own_left, own_right = self._factors_in(self._own, self._own_bytes)
        own_left.copy_(left)
        own_right.copy_(right)
        self._set_head(True)
        return True

    def withdraw(self) -> None:
        """Send next that there are none."""
        self._own_bytes = _HEAD_BYTES
        self._set_head(False)

    def own(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self._factors_in(self._own, self._own_bytes)

    def _set_head(self, is_there: bool) -> None:
        head = self._own[:_HEAD_BYTES].view(torch.int64)
        head[0], head[1] = int(is_there), torch.get_num_threads()

    # -- on the way
    # ----------------------------------------------------------------------------------------------

    def load(self, leg: int) -> None:
        """There is nothing to encode."""

    def outgoing(self, leg: int, host: int) -> list[memoryview]:
        return [bytes_of(self._own[: self._own_bytes])]

    def plain_out(self, leg: int, host: int) -> tuple[int, int]:
        return 0, 0

    def incoming(self, leg: int, host: int) -> memoryview:
        return bytes_of(self._rooms[self._turn][host])

    def plain_in(self, leg: int, host: int) -> tuple[int, int]:
        return 0, 0

    def expects(self, leg: int, host: int, num_bytes: int) -> bool:
        """Whether a message may have ``num_bytes``; the next one that comes has."""
        self._sizes[self._turn][host] = num_bytes
        num_samples, rest = divmod(num_bytes - _HEAD_BYTES, self._sample_bytes)
        return 0 <= num_samples <= self.most and not rest

    def reads(self, leg: int, host: int) -> bool:
        """Whether what has come is what a host sends: without factors nothing follows."""
        is_there, num_threads = self._head_of(self._rooms[self._turn][host])
        has_samples = self._sizes[self._turn][host] > _HEAD_BYTES
        return (is_there == 1 or (is_there == 0 and not has_samples)) and num_threads > 0

    def unload(self, leg: int) -> None:
        """All are there: the next ones go to the other rooms."""
        self._turn ^= 1

    # -- what has come
    # ----------------------------------------------------------------------------------------------

    def can_multiply(self) -> bool:
        """Whether all hosts have brought factors, and multiply alike; all find the same."""
        came = [self._own, *self._rooms[self._turn ^ 1].values()]
        heads = {self._head_of(room) for room in came}
        return len(heads) == 1 and heads.pop()[0] == 1

    def multiply(self, out: torch.Tensor) -> None:
        """Make ``out`` the mean of the products of all hosts, with as many threads as this one has
        announced: the number belongs to the thread that asks, which may be another one.
        """
        last = self._turn ^ 1
        rooms, sizes = self._rooms[last], self._sizes[last]
        factors = [
            self.own() if h == self._host else self._factors_in(rooms[h], sizes[h])
            for h in range(len(self._others) + 1)
        ]
        lefts, rights = (torch.cat(part) for part in zip(*factors, strict=True))
        _, num_threads = self._head_of(self._own)
        with _threads(num_threads):
            torch.mm(lefts.mul_(1.0 / len(factors)).t(), rights, out=out)

    def _head_of(self, room: torch.Tensor) -> tuple[int, int]:
        is_there, num_threads = room[:_HEAD_BYTES].view(torch.int64).tolist()
        return is_there, num_threads

    def _factors_in(self, room: torch.Tensor, num_bytes: int) -> tuple[torch.Tensor, torch.Tensor]:
        values = room[_HEAD_BYTES:num_bytes].view(self._dtype)
        height, width = self._shape
        num_samples = values.numel() // (height + width)
        end = num_samples * height
        return values[:end].view(num_samples, height), values[end:].view(num_samples, width)

    def drop(self) -> None:
        """Let go of all memory."""
        self._own = torch.empty(0, dtype=torch.uint8)
        self._rooms = [{}, {}]


@contextlib.contextmanager
def _threads(number: int) -> Iterator[None]:
    """Let torch compute with so many threads in the block."""
    before = torch.get_num_threads()
    if number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def digest_of_products() -> int:
    """A number that two processors share if their products have the same bits."""
    digest = hashlib.sha256()
    for (samples, height, width), dtype in itertools.product(
        _SHAPES, (torch.float32, torch.float64)
    ):
        # no two sums of these are the same in another order
        size = samples * (height + width)
        numbers = torch.from_numpy(np.random.RandomState(samples).normal(size=size))
        left = numbers[: samples * height].view(samples, height).to(dtype)
        right = numbers[samples * height :].view(samples, width).to(dtype)
        digest.update((left.t() @ right).numpy().tobytes())
    return int.from_bytes(digest.digest()[:8], "little", signed=True)
