"""What SyncBatchNorm needs from the job: sums over all ranks that gradients flow through."""

from __future__ import annotations

from argosy.nn import SyncBatchNorm
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.totals import total
from argosy.tensor.engine import Tensor, wrap

__all__ = ["install", "uninstall"]


def install(group: Group) -> None:
    """Make every SyncBatchNorm take its statistics over ``group``."""

    def reduce_moments(moments: Tensor) -> Tensor:
        return wrap(total(moments.raw, group))

    SyncBatchNorm.reduce_moments = reduce_moments


def uninstall() -> None:
    """Leave each rank alone with its own statistics."""
    SyncBatchNorm.reduce_moments = None
