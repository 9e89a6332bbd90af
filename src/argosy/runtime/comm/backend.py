"""What a backend is: the collectives of one group on raw torch tensors.

Every rank of the group calls the same collectives in the same order. Calls block until this rank's
part is done and its result can be read; ``Work`` (see ``work.py``) runs them behind the caller's
back. All tensors of a call have one dtype.
"""

from __future__ import annotations

import abc
import enum
import functools
import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns

import torch

from argosy.foundation.errors import InternalError
from argosy.foundation.trace import PUBLISHED, REDUCED, trace
from argosy.runtime.comm.bucket import Bucket, FactoredBucket, tell
from argosy.runtime.comm.codec import Codec


class ReduceOp(enum.IntEnum):
    """How values of different ranks are combined; the numbers up to that of AVG are Paddle's."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4
    BAND = 5
    BOR = 6
    BXOR = 7


BITWISE = frozenset({ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR})
# between the values of two ranks; a mean is a sum that is divided in the end
STEP_BY_OP: dict[ReduceOp, Callable[..., torch.Tensor]] = {
    ReduceOp.SUM: torch.add,
    ReduceOp.AVG: torch.add,
    ReduceOp.MAX: torch.maximum,
    ReduceOp.MIN: torch.minimum,
    ReduceOp.PROD: torch.mul,
    ReduceOp.BAND: torch.bitwise_and,
    ReduceOp.BOR: torch.bitwise_or,
    ReduceOp.BXOR: torch.bitwise_xor,
}


def flattened(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of ``tensor`` without its gradient, one after the other in memory: its own if
    possible. That of a lazily conjugated or negated one does not hold what it stands for.
    """
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1)
    # a single element is contiguous whatever its stride, but its bytes cannot be viewed then
    return flat if flat.stride(0) == 1 else flat.as_strided(flat.shape, (1,))


class Backend(abc.ABC):
    """The collectives of one group. ``close()`` ends it; a closed or broken one refuses further
    calls.
    """

    kind: str
    name: str = ""  # of the group, in messages and traces
    rank: int
    world_size: int
    timeout_s: float = 1800.0
    # from which on a bucket is better sent than filled further
    most_bucket_bytes: int = sys.maxsize
    num_plain_buckets: int = 0

    @abc.abstractmethod
    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        """Combine ``tensor`` of all ranks, in rank order, and leave the result in it on each."""

    @abc.abstractmethod
    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        """Copy the ``tensor`` of rank ``src`` into that of every rank."""

    @abc.abstractmethod
    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        """As ``all_reduce``, but only ``dst`` is changed."""

    @abc.abstractmethod
    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        """Fill ``outputs[r]`` with the ``tensor`` of rank r."""

    @abc.abstractmethod
    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        """As ``all_gather`` on ``dst`` alone; the others pass None."""

    @abc.abstractmethod
    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        """Fill ``tensor`` of rank r with ``inputs[r]`` of ``src``; the others pass None."""

    @abc.abstractmethod
    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        """Fill ``tensor`` of rank r with the combination of ``inputs[r]`` of all ranks."""

    @abc.abstractmethod
    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        """Fill ``outputs[s]`` with ``inputs[rank]`` of rank s; the parts may differ in size."""

    @abc.abstractmethod
    def send(self, tensor: torch.Tensor, dst: int) -> None:
        """Hand ``tensor`` to rank ``dst``, which must call ``recv``. Messages of one pair arrive in
        their order.
        """

    @abc.abstractmethod
    def recv(self, tensor: torch.Tensor, src: int) -> None:
        """Fill ``tensor`` with what rank ``src`` sends."""

    @abc.abstractmethod
    def barrier(self) -> None:
        """Wait until every rank has called it."""

    @property
    def streams(self) -> bool:
        """Whether what other ranks are going to read is better written past the cache."""
        return False

    def begin_all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> Callable[[], None] | None:
        """Begin an ``all_reduce`` and return what is left of it, to be called before any other
        collective, in any thread; None if it is done. Waits for other ranks for a moment at most.
        """
        return functools.partial(self.all_reduce, tensor, op)

    def set_timeout(self, timeout_s: float) -> None:
        """From the next call on, wait so long for the other ranks."""
        self.timeout_s = timeout_s

    def allocate(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        """Make a flat tensor whose sums over the ranks cost least; what is in it is not said. Other
        ranks need not call it.
        """
        return torch.empty(numel, dtype=dtype)

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        """Make a flat tensor that all ranks average in place; all ranks call it alike."""
        return PlainBucket(self, torch.zeros(numel, dtype=dtype))

    def why_no_factors(self) -> str:
        """Why there are no buckets that take factors, whatever the matrices; empty if there are.
        The same on every rank; all of them ask.
        """
        return f"groups of kind {self.kind!r} do not exchange factors of gradients"

    def takes_factors(self, shape: tuple[int, int], dtype: torch.dtype) -> bool:
        """Whether a matrix is better averaged in a bucket of its own, which takes factors, if there
        are such; the same on every rank.
        """
        return False

    def make_factored_bucket(
        self, numel: int, dtype: torch.dtype, shape: tuple[int, int]
    ) -> FactoredBucket:
        """As ``make_bucket``, of a tensor that begins with a matrix of ``shape``, for which
        ``takes_factors``.
        """
        raise InternalError(f"groups of kind {self.kind!r} have no buckets that take factors")

    def make_coded_bucket(
        self, numel: int, dtype: torch.dtype, codec: Codec, num_exact: int = 0
    ) -> Bucket | None:
        """As ``make_bucket``, but between hosts it travels in the form of ``codec``, all but its
        last ``num_exact`` elements. None if this backend has no way of its own to do that.
        """
        return None

    @abc.abstractmethod
    def close(self) -> None:
        """Leave the group; ranks that still wait for this one get PeerLost."""


class PlainBucket(Bucket):
    """A bucket of any backend: private memory and one all_reduce."""

    def __init__(self, owner: Backend, tensor: torch.Tensor) -> None:
        self._owner = owner
        self.tensor = tensor
        owner.num_plain_buckets += 1
        self._number = owner.num_plain_buckets - 1
        self._round = 0

    def publish(self) -> None:
        """Nothing can start before ``finish``."""
        self._round += 1
        if trace.recordings:
            began_ns, owner = perf_counter_ns(), self._owner.name
            tell(PUBLISHED, owner, self._number, self._round, began_ns, self.tensor)

    def progress(self) -> bool:
        return True  # nothing can start before ``finish``

    def finish(self) -> None:
        began_ns = perf_counter_ns() if trace.recordings else 0
        self._owner.all_reduce(self.tensor, ReduceOp.AVG)
        if began_ns:
            owner = self._owner.name
            tell(REDUCED, owner, self._number, self._round, began_ns, self.tensor)

    def close(self) -> None:
        self.tensor = torch.empty(0)
