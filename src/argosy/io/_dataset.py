"""Datasets: by index (``Dataset``) or as a stream (``IterableDataset``), and combinations of
them.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.utils.dataset import Dataset

T = TypeVar("T")


class NoLength(UsageError, TypeError, RuntimeError):
    """A stream has no ``len``. A TypeError too, so that ``list(stream)``, which asks first, goes on
    without.
    """


class IterableDataset(Dataset[T]):
    """Samples as a stream: a subclass defines ``__iter__``.

    Each worker process of a DataLoader iterates a copy of its own: split the stream with
    ``get_worker_info()``.
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __iter__; an IterableDataset must"
        )

    def __getitem__(self, idx: Any) -> T:
        raise RuntimeError(
            f"{type(self).__name__} is an IterableDataset: it has no samples by index"
        )

    def __len__(self) -> int:
        raise NoLength(f"{type(self).__name__} is an IterableDataset: it has no length")


class TensorDataset(Dataset[Any]):
    """Sample ``i`` is the tuple of row ``i`` of each tensor.

    Example:
        >>> data = paddle.io.TensorDataset([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])])
        >>> [int(field) for field in data[1]]
        [2, 4]
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        lengths = [tensor.shape[0] for tensor in tensors]
        if len(set(lengths)) > 1:
            raise BadArgument(f"TensorDataset: the tensors have different lengths {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class ComposeDataset(Dataset[Any]):
    """Datasets of one length side by side: sample ``i`` joins the fields of sample ``i`` of
    each.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = _by_index("ComposeDataset", datasets)
        lengths = [len(dataset) for dataset in self.datasets]
        if len(set(lengths)) > 1:
            raise BadArgument(
                f"ComposeDataset: lengths of datasets should be same, but are {lengths}"
            )

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: Any) -> tuple[Any, ...]:
        fields: list[Any] = []
        for dataset in self.datasets:
            sample = dataset[idx]
            fields.extend(sample if isinstance(sample, (list, tuple)) else [sample])
        return tuple(fields)


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[IterableDataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets or not all(
            isinstance(dataset, IterableDataset) for dataset in self.datasets
        ):
            raise BadArgument("ChainDataset: expected one or more paddle.io.IterableDataset")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class ConcatDataset(Dataset[T]):
    """Datasets by index, one after the other."""

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = _by_index("ConcatDataset", datasets)
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise UsageError(f"ConcatDataset: index {idx} lies outside the {len(self)} samples")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[part][idx - (self.cumulative_sizes[part - 1] if part else 0)]


class Subset(Dataset[T]):
    """The samples of ``dataset`` at ``indices``, in their order."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def _by_index(call: str, datasets: Iterable[Dataset[Any]]) -> list[Dataset[Any]]:
    parts = list(datasets)
    if not parts:
        raise BadArgument(f"{call}: input datasets should not be empty")
    if any(isinstance(part, IterableDataset) for part in parts):
        raise BadArgument(f"{call} does not support IterableDataset")
    return parts


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Any = None
) -> list[Subset[T]]:
    """Split a dataset at random into parts of the given lengths, or of the given fractions where
    these sum to 1.

    The permutation comes from paddle's generator, as ``paddle.randperm``'s; ``generator`` is
    accepted and unused, as in Paddle.
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_from_fractions(total, lengths)
    if sum(lengths) != total:
        raise UsageError(
            f"random_split: the lengths sum to {sum(lengths)}, but the dataset has {total} samples"
        )
    order = torch.randperm(total).tolist()
    ends = list(itertools.accumulate(int(length) for length in lengths))
    return [
        Subset(dataset, order[end - int(length) : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def _lengths_from_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    """Round down, then deal the samples that are left one by one from the first part on."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise UsageError(
                f"random_split: fraction {fraction} at index {i} is not between 0 and 1"
            )
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"random_split: the part at index {i} is empty", stacklevel=3)
    return lengths
