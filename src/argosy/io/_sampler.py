"""Samplers: the order in which a dataset's indices are visited. Random ones draw from NumPy's
global generator, as Paddle's do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import BadArgument, DtypeError, UsageError


class Sampler:
    """Base class: a subclass defines ``__iter__``, which gives indices, and ``__len__`` where it
    knows it.
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__; a Sampler must")


class SequenceSampler(Sampler):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """``num_samples`` indices in random order, each at most once unless ``replacement``.

    ``generator`` is an iterator over indices that is used instead.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(data_source)
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise DtypeError(
                f"RandomSampler: replacement should be a bool, but received {replacement!r}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise UsageError(
                "RandomSampler: num_samples should be a positive integer, but is "
                f"{self.num_samples!r}"
            )
        if not replacement and self.num_samples > len(data_source):
            raise UsageError(
                f"RandomSampler: num_samples={self.num_samples} is more than the "
                f"{len(data_source)} samples that there are; "
                "draw with replacement=True"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        if self.generator:
            for _, index in zip(range(self.num_samples), self.generator, strict=False):
                yield index
        else:
            yield from np.random.choice(
                np.arange(len(self.data_source)), self.num_samples, replace=self.replacement
            ).tolist()

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """``num_samples`` indices drawn with the given weights; a 2-D array of weights gives a draw for
    each row.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise UsageError(
                "WeightedRandomSampler: num_samples should be a positive integer, but received "
                f"{num_samples!r}"
            )
        if not isinstance(replacement, bool):
            raise UsageError(
                f"WeightedRandomSampler: replacement should be a bool, but received {replacement!r}"
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement

    def _rows(self) -> Any:
        weights = np.asarray(self.weights)
        if weights.ndim not in (1, 2):
            raise BadArgument(
                "WeightedRandomSampler: weights should be a 1-D or 2-D array, but have shape "
                f"{weights.shape}"
            )
        rows = weights.reshape(-1, weights.shape[-1])
        if not np.isfinite(rows).all() or (rows < 0).any() or not (rows > 0).any(axis=1).all():
            raise BadArgument(
                "WeightedRandomSampler: weights should be finite, not negative, and not all zero"
            )
        if not self.replacement and ((rows > 0).sum(axis=1) < self.num_samples).any():
            raise BadArgument(
                f"WeightedRandomSampler: {self.num_samples} samples without replacement need as "
                "many positive weights"
            )
        return rows / rows.sum(axis=1, keepdims=True)

    def __iter__(self) -> Iterator[int]:
        draws = [
            np.random.choice(len(row), self.num_samples, self.replacement, row)
            for row in self._rows()
        ]
        return iter(np.concatenate(draws).tolist())

    def __len__(self) -> int:
        shape = np.shape(self.weights)
        return self.num_samples * (shape[0] if len(shape) > 1 else 1)


class SubsetRandomSampler(Sampler):
    """The given indices in random order, drawn from paddle's generator."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        if len(indices) == 0:
            raise UsageError("SubsetRandomSampler: indices should not be empty")
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        for i in torch.randperm(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)
