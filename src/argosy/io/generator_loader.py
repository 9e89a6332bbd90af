"""The loader of ``DataLoader.from_generator``: batches of Tensors from a Python generator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from argosy.batch import batch as batch_samples
from argosy.foundation.errors import (
    ArgosyError,
    BadArgument,
    DtypeError,
    NotSupported,
    UsageError,
)
from argosy.foundation.places import to_place
from argosy.framework.mode import in_dynamic_mode
from argosy.io._collate import to_tensors
from argosy.reader import buffered, multiprocess_reader
from argosy.tensor.engine import Tensor, defaults


class ReaderFailed(ArgosyError, SystemError):
    """The source of a loader raised an exception, which is the cause of this one."""


def in_batches(
    reader: Callable[[], Any], batch_size: int, drop_last: bool
) -> Callable[[], Iterator[list[Any]]]:
    """Gather the samples of ``reader()`` into batches, for ``set_sample_generator`` of a loader."""
    if batch_size <= 0:
        raise BadArgument(
            f"set_sample_generator: batch_size must be larger than 0, but received {batch_size}"
        )
    return batch_samples(reader, batch_size, drop_last)


def read_ahead(source: Callable[[], Any], capacity: int) -> Generator[Any]:
    """The batches of ``source()``, up to ``capacity`` of them read ahead in a thread."""
    batches = buffered(source, capacity)() if capacity else source()
    try:
        yield from batches
    except Exception as error:
        raise ReaderFailed(
            "(Fatal) Blocking queue is killed because the data reader raises an exception: "
            f"{type(error).__name__}: {error}"
        ) from error


class GeneratorLoader:
    """Iterable over lists of Tensors; one of the ``set_*`` methods names the source. Up to
    ``capacity`` batches are read ahead.

    With ``use_multiprocess`` the source runs in a process of its own, which each pass starts anew:
    what it does to variables of the script stays there.
    """

    def __init__(
        self,
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = True,
        use_multiprocess: bool = False,
    ) -> None:
        if not capacity:
            raise UsageError(
                "DataLoader.from_generator: give a value to capacity, the number of batches to "
                "read ahead"
            )
        if not in_dynamic_mode():
            raise UsageError(
                "DataLoader.from_generator: feed_list, the variables to feed, must be given in "
                "static mode"
            )
        if not iterable:
            warnings.warn(
                "DataLoader.from_generator: in dynamic mode the loader is always iterable",
                stacklevel=3,
            )
        if not return_list:
            warnings.warn(
                "DataLoader.from_generator: in dynamic mode batches are always lists", stacklevel=3
            )
        self._feed_list = feed_list
        self._capacity = capacity if use_double_buffer else 0
        self._has_process = use_multiprocess
        self._batch_reader: Callable[[], Any] | None = None
        self._place = defaults.place

    @property
    def iterable(self) -> bool:
        return True

    def set_sample_generator(
        self, reader: Callable[[], Any], batch_size: int, drop_last: bool = True, places: Any = None
    ) -> GeneratorLoader:
        """``reader()`` gives samples, tuples of fields; they are gathered into batches."""
        return self.set_sample_list_generator(in_batches(reader, batch_size, drop_last), places)

    def set_sample_list_generator(
        self, reader: Callable[[], Any], places: Any = None
    ) -> GeneratorLoader:
        """``reader()`` gives lists of samples, such as ``paddle.batch`` makes."""

        def fields() -> Iterator[list[Any]]:
            for samples in reader():
                yield [list(column) for column in zip(*samples, strict=True)]

        return self.set_batch_generator(fields, places)

    def set_batch_generator(self, reader: Callable[[], Any], places: Any = None) -> GeneratorLoader:
        """``reader()`` gives batches: a list of arrays or Tensors."""
        if isinstance(places, (list, tuple)):
            if len(places) != 1:
                raise BadArgument(
                    f"DataLoader: one process feeds one place, but received {len(places)}"
                )
            places = places[0]
        self._batch_reader = reader
        self._place = defaults.place if places is None else to_place(places)
        return self

    decorate_sample_generator = set_sample_generator
    decorate_sample_list_generator = set_sample_list_generator
    decorate_batch_generator = set_batch_generator

    @staticmethod
    def _check_input_array(item: Any) -> Any:
        """``item`` as an array; nested lists of different lengths are refused."""
        return regular(item, "a field of the batch")

    def __iter__(self) -> Iterator[list[Tensor]]:
        if self._batch_reader is None:
            raise BadArgument(
                "DataLoader: its data source has not been set; call one of its set_*_generator "
                "methods"
            )
        source = multiprocess_reader([self._arrays]) if self._has_process else self._arrays
        for batch in read_ahead(source, self._capacity):
            yield to_tensors(batch, self._place)

    def _arrays(self) -> Iterator[list[Any]]:
        assert self._batch_reader is not None
        return regular_batches(self._batch_reader)

    def __call__(self) -> Iterator[list[Tensor]]:
        return self.__iter__()

    def start(self) -> None:
        """Belongs to loaders of static programs (``iterable=False``)."""
        raise NotSupported(
            "DataLoader.start: belongs to static programs with iterable=False; iterate the "
            "loader instead"
        )

    def reset(self) -> None:
        """Belongs to loaders of static programs (``iterable=False``)."""
        raise NotSupported(
            "DataLoader.reset: belongs to static programs with iterable=False; iterate the "
            "loader instead"
        )


def regular_batches(reader: Callable[[], Any]) -> Iterator[list[Any]]:
    """The batches of ``reader()``, each a list of arrays or Tensors."""
    for batch in reader():
        if batch is None:
            raise UsageError("DataLoader: the reader gave None; a batch is a list of arrays")
        yield [regular(field, "a field of the batch") for field in batch]


def regular(values: Any, what: str) -> Any:
    """``values`` as an array, if they are no Tensor; nested lists of different lengths are
    refused.
    """
    if isinstance(values, Tensor):
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        array = None
    if array is None or array.dtype == object:
        raise DtypeError(
            f"DataLoader: {what} is not a regular array; its samples have different lengths"
        )
    return array
