"""Datasets that are read while training: a file at a time passes through, nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argosy.distributed.fleet.dataset._base import DatasetBase
from argosy.foundation.errors import NotSupported

__all__ = ["QueueDataset", "FileInstantDataset"]


class QueueDataset(DatasetBase):
    """Reads its files anew in every pass, in the order of the list; ``thread_num`` of them at a
    time.

    Example:
        >>> import paddle
        >>> dataset = paddle.distributed.QueueDataset()
        >>> dataset.init(batch_size=128, thread_num=2, pipe_command="python reader.py")
        >>> dataset.set_filelist(["part-0.txt", "part-1.txt"])
    """

    _feed_type = "MultiSlotDataFeed"

    def _batches(self, num_threads: int) -> Iterator[Any]:
        from argosy.runtime.data.reading import batches

        with self._reading(num_threads or self.thread_num) as reading:
            yield from batches(reading, self.batch_size)

    def _parts(self, count: int) -> list[Iterator[Any]]:
        return [self._batches_of(self.filelist[i::count]) for i in range(count)]

    def _batches_of(self, files: list[str]) -> Iterator[Any]:
        from argosy.runtime.data.reading import batches

        with self._reading(1, files) as reading:
            yield from batches(reading, self.batch_size)

    def local_shuffle(self) -> None:
        """Refuse: nothing is in memory."""
        raise NotSupported(
            f"{type(self).__name__} does not support local shuffle, please use InMemoryDataset "
            "for local_shuffle"
        )

    def global_shuffle(self, fleet: Any = None) -> None:
        """Refuse: nothing is in memory."""
        raise NotSupported(
            f"{type(self).__name__} does not support global shuffle, please use InMemoryDataset "
            "for global_shuffle"
        )


class FileInstantDataset(QueueDataset):
    """As QueueDataset: here both read files as they are needed."""

    _feed_type = "MultiSlotFileInstantDataFeed"
