"""Buckets of a group on several hosts: the mean over a host is made in its memory, and sent to the
other hosts as soon as it is seen, while other work goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from argosy.runtime.comm.backends.factor_cargo import FactorCargo
from argosy.runtime.comm.bucket import Bucket, FactoredBucket


class Owner(Protocol):
    """The rank's end of the group. Places are the numbers of cargoes in it."""

    def has_host_mean(self, bucket: Bucket) -> bool:
        """Whether the mean over this host is in ``bucket``."""

    def send_bucket(self, place: int) -> None:
        """On the first rank of a host: let its part go to the others."""

    def is_over(self, place: int) -> bool:
        """Whether what was sent last has come from all hosts, too."""

    def drop_bucket(self, place: int) -> None:
        """Forget what travels at ``place``."""

    def finish_buckets(self, buckets: Sequence[HierarchicalBucket]) -> None:
        """Turn the means over this host into the means over all."""


class HierarchicalBucket(Bucket):
    """Made by ``HierarchicalBackend.make_bucket``, by all ranks together; its values travel at
    ``place``.
    """

    def __init__(self, owner: Owner, local: Bucket, place: int) -> None:
        self._owner = owner
        self.place = place
        self._bucket = local
        self._is_sent = False
        self.tensor = local.tensor

    def publish(self) -> None:
        self._bucket.publish()
        self.progress()

    def progress(self) -> bool:
        is_done = self._bucket.progress()
        if not self._is_sent and self._owner.has_host_mean(self._bucket):
            self._send()
        return is_done and self._is_sent

    def _send(self) -> None:
        self._owner.send_bucket(self.place)
        self._is_sent = True

    def finish_here(self) -> None:
        """Wait for the mean over this host, and have it sent."""
        self._bucket.finish()
        if not self._is_sent:
            self._send()
        self._is_sent = False

    @property
    def under_way(self) -> list[int]:
        """The places at which something is on its way in this round, as far as that is known."""
        return [self.place]

    @property
    def heralds(self) -> list[int]:
        """Those of them that say what else travels; none once it is known."""
        return []

    def settle(self) -> None:
        """Find out what else travels, from the heralds, which have come."""

    def finish(self) -> None:
        self._owner.finish_buckets([self])

    def finish_all(self, buckets: Sequence[Bucket]) -> None:
        members = [bucket for bucket in buckets if isinstance(bucket, HierarchicalBucket)]
        self._owner.finish_buckets(members)

    def close(self) -> None:
        self.tensor = torch.empty(0)
        self._owner.drop_bucket(self.place)
        self._bucket.close()


class FactoredHierarchicalBucket(HierarchicalBucket, FactoredBucket):
    """A bucket of hosts of one rank each, for the gradient of a matrix of ``shape`` that may come
    as two factors.

    In a round each host says first, at the place of ``cargo``, what factors it has. If all have
    some, each multiplies them. If one has none, or multiplies with another number of threads, all
    send their gradients whole, at ``place``: so bits depend on what the hosts brought alone. Who
    has none knows that at once.
    """

    def __init__(
        self, owner: Owner, local: Bucket, place: int, cargo: FactorCargo, shape: tuple[int, int]
    ) -> None:
        super().__init__(owner, local, place)
        self._cargo, self._factors = cargo, cargo.factors
        self._matrix = self.tensor[: shape[0] * shape[1]].view(shape)
        self._is_offered = False
        self._is_settled = True  # whether it is known if all hosts have brought factors
        self._is_whole = False  # the gradient is sent in this round

    # -- what this rank brings
    # ----------------------------------------------------------------------------------------------

    def offer(self, left: torch.Tensor, right: torch.Tensor) -> bool:
        self._is_offered = self._factors.offer(left, right)
        return self._is_offered

    @property
    def is_offered(self) -> bool:
        return self._is_offered

    @property
    def was_multiplied(self) -> bool:
        return not self._is_whole

    def withdraw(self) -> None:
        self._is_offered = False

    def multiply(self) -> None:
        left, right = self._factors.own()
        torch.mm(left.t(), right, out=self._matrix)
        self.withdraw()

    # -- a round
    # ----------------------------------------------------------------------------------------------

    def _send(self) -> None:
        self._is_settled = self._is_whole = False
        if not self._is_offered:
            self._factors.withdraw()
        self._is_sent = True
        self._owner.send_bucket(self._cargo.place)
        if not self._is_offered:
            self._send_whole()

    def progress(self) -> bool:
        is_sent = super().progress()
        if is_sent and not self._is_settled and self._owner.is_over(self._cargo.place):
            self.settle()
        return is_sent and self._is_settled

    @property
    def under_way(self) -> list[int]:
        return [*self.heralds, *([self.place] if self._is_whole else [])]

    @property
    def heralds(self) -> list[int]:
        return [] if self._is_settled else [self._cargo.place]

    def settle(self) -> None:
        if self._factors.can_multiply():
            self._factors.multiply(self._matrix)
            self.withdraw()
        elif not self._is_whole:
            if self._is_offered:
                self.multiply()
            self._send_whole()
        self._is_settled = True  # last: who fails before can try again

    def _send_whole(self) -> None:
        self._is_whole = True
        self._owner.send_bucket(self.place)

    def close(self) -> None:
        self._matrix = torch.empty(0)
        self._owner.drop_bucket(self._cargo.place)
        super().close()
