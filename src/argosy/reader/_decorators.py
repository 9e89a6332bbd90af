"""Decorators that run in the thread of whoever iterates."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError

Reader = Callable[[], Any]

_MISSING = object()


class ComposeNotAligned(UsageError):
    """Composed readers have different lengths."""


def cache(reader: Reader) -> Reader:
    """Read everything now, once, and serve it from memory."""
    samples = tuple(reader())
    return lambda: iter(samples)


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    """Serve ``func(a, b, ...)`` of the samples that the readers give side by side; stops with the
    shortest.
    """
    return lambda: map(func, *(reader() for reader in readers))


def chain(*readers: Reader) -> Reader:
    """Serve the readers one after the other."""
    return lambda: itertools.chain.from_iterable(reader() for reader in readers)


def firstn(reader: Reader, n: int) -> Reader:
    """Serve at most ``n`` samples."""
    return lambda: itertools.islice(reader(), n)


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """Shuffle within successive buffers of ``buf_size`` samples, with Python's ``random``.

    Example:
        >>> sorted(paddle.reader.shuffle(lambda: range(5), 3)())
        [0, 1, 2, 3, 4]
    """

    def shuffled() -> Iterator[Any]:
        samples = iter(reader())
        while buffer := list(itertools.islice(samples, max(int(buf_size), 1))):
            random.shuffle(buffer)
            yield from buffer

    return shuffled


def compose(*readers: Reader, **kwargs: Any) -> Reader:
    """Join the samples that the readers give side by side into one flat tuple.

    Readers of different lengths raise ``ComposeNotAligned`` at the end; with
    ``check_alignment=False`` the longer ones are cut.

    Example:
        >>> list(paddle.reader.compose(lambda: [1, 2], lambda: [(3, 4), (5, 6)])())
        [(1, 3, 4), (2, 5, 6)]
    """
    check_alignment = kwargs.pop("check_alignment", True)
    if kwargs:
        raise DtypeError(
            f"compose: unknown arguments {sorted(kwargs)}; only check_alignment is known"
        )

    def composed() -> Iterator[tuple[Any, ...]]:
        for samples in itertools.zip_longest(*(reader() for reader in readers), fillvalue=_MISSING):
            if any(sample is _MISSING for sample in samples):
                if check_alignment:
                    lengths = [i for i, sample in enumerate(samples) if sample is _MISSING]
                    raise ComposeNotAligned(
                        f"compose: the readers are not aligned: {lengths} ended before the others"
                    )
                return
            yield tuple(
                itertools.chain.from_iterable(s if isinstance(s, tuple) else (s,) for s in samples)
            )

    return composed
