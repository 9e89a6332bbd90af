"""Batches of indices, for one process and for one of several that share a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from argosy.foundation import env
from argosy.foundation.errors import BadArgument
from argosy.io._dataset import IterableDataset
from argosy.io._sampler import RandomSampler, Sampler, SequenceSampler


class BatchSampler(Sampler):
    """Lists of ``batch_size`` indices of a dataset, or of what a sampler gives.

    Example:
        >>> list(paddle.io.BatchSampler(sampler=range(5), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if dataset is None:
            if not isinstance(sampler, Iterable):
                raise BadArgument(
                    f"BatchSampler: either dataset or sampler should be set; sampler is {sampler!r}"
                )
            if shuffle:
                raise BadArgument("BatchSampler: shuffle should be False when sampler is set")
            self.sampler: Any = sampler
        else:
            if isinstance(dataset, IterableDataset):
                raise BadArgument("BatchSampler: dataset should not be a paddle.io.IterableDataset")
            if sampler is not None:
                raise BadArgument("BatchSampler: should not set both dataset and sampler")
            _check_flag("BatchSampler", "shuffle", shuffle)
            self.sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        _check_batch_size("BatchSampler", batch_size)
        _check_flag("BatchSampler", "drop_last", drop_last)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        return _batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        return _num_batches(len(self.sampler), self.batch_size, self.drop_last)


class DistributedBatchSampler(BatchSampler):
    """The batches of one rank: the dataset, filled up from its head until it divides evenly, is
    dealt out batch by batch.

    ``num_replicas`` and ``rank`` come from the launcher's environment where not given. With
    ``shuffle`` the order depends on the epoch alone, which counts up at each iteration;
    ``set_epoch`` sets it.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        _check_batch_size("DistributedBatchSampler", batch_size)
        _check_flag("DistributedBatchSampler", "shuffle", shuffle)
        _check_flag("DistributedBatchSampler", "drop_last", drop_last)
        if num_replicas is not None and not (isinstance(num_replicas, int) and num_replicas > 0):
            raise BadArgument(
                "DistributedBatchSampler: num_replicas should be a positive integer, but is "
                f"{num_replicas!r}"
            )
        if rank is not None and not (isinstance(rank, int) and rank >= 0):
            raise BadArgument(
                f"DistributedBatchSampler: rank should be a non-negative integer, but is {rank!r}"
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.nranks = env.world_size() if num_replicas is None else num_replicas
        self.local_rank = env.rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self) -> Iterator[list[int]]:
        indices = _fill_up(len(self.dataset), self.total_size)
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(indices)
            self.epoch += 1
        yield from _batches(
            _share_of(self.local_rank, self.nranks, self.batch_size, indices),
            self.batch_size,
            self.drop_last,
        )

    def __len__(self) -> int:
        return _num_batches(self.num_samples, self.batch_size, self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Set the number that the next shuffle is seeded with."""
        self.epoch = epoch


def _fill_up(num_samples: int, total: int) -> list[int]:
    """0 … num_samples-1, then again from 0 until there are ``total``."""
    return [i % num_samples for i in range(total)]


def _share_of(rank: int, nranks: int, batch_size: int, indices: list[int]) -> list[int]:
    """The indices of ``rank``: every ``nranks``-th block of ``batch_size``, and an even part of
    what is left over.
    """
    tail = len(indices) % (batch_size * nranks)
    body = len(indices) - tail
    share: list[int] = []
    for start in range(rank * batch_size, body, batch_size * nranks):
        share += indices[start : start + batch_size]
    part = tail // nranks
    return share + indices[body + rank * part : body + (rank + 1) * part]


def _batches(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for index in indices:
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def _num_batches(num_samples: int, batch_size: int, drop_last: bool) -> int:
    return num_samples // batch_size if drop_last else -(-num_samples // batch_size)


def _check_batch_size(call: str, batch_size: Any) -> None:
    if not isinstance(batch_size, int) or batch_size <= 0:
        raise BadArgument(
            f"{call}: batch_size should be a positive integer, but got {batch_size!r}"
        )


def _check_flag(call: str, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise BadArgument(
            f"{call}: {name} should be a boolean value, but got {type(value).__name__}"
        )
