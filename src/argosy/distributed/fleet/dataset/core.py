"""``core.Dataset``: a dataset in memory by the names of Paddle's C++ object."""

from __future__ import annotations

from argosy.distributed.fleet.dataset._memory import InMemoryDataset
from argosy.distributed.fleet.dataset.inner import Inner
from argosy.foundation.errors import BadArgument

__all__ = ["Dataset"]


class Dataset(Inner):
    """A dataset in memory of its own."""

    def __init__(self, name: str = "MultiSlotDataset") -> None:
        if name not in ("MultiSlotDataset", "SlotRecordDataset"):
            raise BadArgument(
                f"core.Dataset: there are MultiSlotDataset and SlotRecordDataset, not {name!r}"
            )
        super().__init__(InMemoryDataset())
