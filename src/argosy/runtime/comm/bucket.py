"""A bucket: a flat tensor that all ranks of a group average in place, in two halves so that other
work can go on in between.
"""

from __future__ import annotations

import abc
import itertools
import time
from collections.abc import Sequence

import torch

from argosy.foundation.trace import KEY, trace


class Bucket(abc.ABC):
    """Memory for gradients, the same on every rank. Each round: fill ``tensor``, ``publish()``,
    perhaps ``progress()``, ``finish()``.
    """

    tensor: torch.Tensor

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    @abc.abstractmethod
    def publish(self) -> None:
        """Say that this rank has filled its tensor; returns at once."""

    @abc.abstractmethod
    def progress(self) -> bool:
        """Do what can be done without waiting; True once nothing is left for it to do in this
        round.
        """

    def is_complete(self) -> bool:
        """Whether ``tensor`` is known to hold the mean of this round, so that ``finish`` need not
        wait.
        """
        return False

    @abc.abstractmethod
    def finish(self) -> None:
        """Wait until ``tensor`` holds the mean over all ranks."""

    def finish_all(self, buckets: Sequence[Bucket]) -> None:
        """``finish`` each of ``buckets``, which are this one and others that do it in the same way,
        in their order, the same on every rank.
        """
        for bucket in buckets:
            bucket.finish()

    def gathered(self) -> Sequence[torch.Tensor] | None:
        """In place of ``finish``: wait until all ranks have published and return their tensors, as
        they are; None where ranks cannot read each other's memory.

        A rank may read them until it publishes another bucket in the same way. So two buckets that
        take turns are enough: nobody fills the first again before all have published the second,
        that is, have read the first.
        """
        return None

    @abc.abstractmethod
    def close(self) -> None: ...


class FactoredBucket(Bucket):
    """A bucket for the gradient of one matrix, ``left.T @ right``, which a rank may hand over as
    those two: one row of each for a sample, so that they are small where samples are few.
    """

    @abc.abstractmethod
    def offer(self, left: torch.Tensor, right: torch.Tensor) -> bool:
        """Take both in place of what ``tensor`` should hold, to be published next; False if they
        are no gain.
        """

    @property
    @abc.abstractmethod
    def is_offered(self) -> bool:
        """Whether it has them, and has not published them."""

    @property
    @abc.abstractmethod
    def was_multiplied(self) -> bool:
        """Whether the factors of all ranks were multiplied in the last round, and no gradient was
        added up.
        """

    @abc.abstractmethod
    def withdraw(self) -> None:
        """Forget them: ``tensor`` holds what is to be published."""

    @abc.abstractmethod
    def multiply(self) -> None:
        """Make ``tensor`` hold their product, and forget them."""


def finish_buckets(buckets: Sequence[Bucket]) -> None:
    """``finish`` each of ``buckets`` in their order; neighbours that do it in one way together,
    which costs hosts one agreement.
    """
    for _, group in itertools.groupby(buckets, lambda bucket: type(bucket).finish_all):
        members = list(group)
        members[0].finish_all(members)


def tell(
    what: str, group: str, number: int, round: int, began_ns: int, tensor: torch.Tensor
) -> None:
    """Have it known that a bucket was published or reduced since ``began_ns``; group, number and
    round are the same on every rank. Called only while somebody records.
    """
    about = {KEY: f"{group}/{number}/{round}", "bytes": tensor.nbytes}
    # two readings of a clock may be equal, and an arrow needs something to begin at
    ended_ns = max(time.perf_counter_ns(), began_ns + 1)
    trace.add(f"{what} bucket {number}", what, began_ns, about, ended_ns=ended_ns)
