"""What programs that several processes train need from the job: means, sums and first values over
all ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.averages import average_rows
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.compression import plain_bucket
from argosy.static.parallel import trainers

__all__ = ["AveragedBucket", "install", "promise", "uninstall"]


class AveragedBucket:
    """A bucket as the buffer of a program's gradients."""

    def __init__(self, bucket: Bucket, group: Group) -> None:
        self._bucket = bucket
        self._group = group
        self.tensor = bucket.tensor

    def average(self) -> None:
        self._bucket.publish()
        self._group.run(self._bucket.finish)

    def close(self) -> None:
        self._bucket.close()


class _GroupTrainers:
    """The ranks of ``group`` as trainers."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.rank = group.rank
        self.world_size = group.nranks

    def check_same(self, lines: list[str]) -> None:
        what = "the trainers run different programs"
        self._group.run(agreement.check_same, lines, self._group.transport, what)

    def buffer(self, numel: int, dtype: torch.dtype, device: torch.device) -> AveragedBucket:
        return AveragedBucket(
            self._group.run(plain_bucket, self._group.transport, numel, dtype, device), self._group
        )

    def total(self, tensor: torch.Tensor) -> None:
        self._group.run(self._group.transport.all_reduce, tensor, ReduceOp.SUM)

    def average_rows(self, grad: torch.Tensor) -> torch.Tensor:
        # stands for the parameter
        holder = torch.empty(grad.shape, dtype=grad.dtype, device=grad.device)
        holder.grad = grad
        self._group.run(average_rows, holder, True, self._group.transport)
        assert holder.grad is not None
        return holder.grad

    def broadcast(self, tensors: list[torch.Tensor]) -> None:
        self.check_same([agreement.describe("variable", t) for t in tensors])
        self._group.run(broadcast_values, tensors, self._group.transport, 0)


def install(group: Group) -> None:
    """Make the ranks of ``group`` the trainers of programs with ``num_trainers``."""
    trainers.install(_GroupTrainers(group))


def promise(join: Callable[[], object]) -> None:
    """Have the first program with ``num_trainers`` call ``join``, which installs them."""
    trainers.promise(join)


def uninstall() -> None:
    trainers.install(None)
    trainers.promise(None)
