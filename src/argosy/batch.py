"""``paddle.batch``: lists of samples from a reader of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from argosy.foundation.errors import UsageError

__all__ = ["batch"]

Reader = Callable[[], Any]


def batch(
    reader: Reader, batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list[Any]]]:
    """Group the samples of ``reader`` into lists of ``batch_size``; the last may be shorter unless
    ``drop_last``.

    Example:
        >>> list(paddle.batch(lambda: iter(range(5)), batch_size=2)())
        [[0, 1], [2, 3], [4]]
    """
    size = int(batch_size)
    if size <= 0:
        raise UsageError(
            f"paddle.batch: batch_size should be a positive integer, but received {batch_size}"
        )

    def batch_reader() -> Iterator[list[Any]]:
        samples: list[Any] = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batch_reader
