"""``fluid.reader``: loaders that feed programs, and eager code, from Python generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy import io
from argosy.fluid.worker_process import _set_process_signal_handler
from argosy.foundation.errors import BadArgument, NotSupported
from argosy.foundation.process_state import Held
from argosy.io import generator_loader
from argosy.io.worker import share
from argosy.static import Variable
from argosy.static.run.readers import ProgramLoader

_keeps_order: Held[bool | None] = Held("order of loaders", True)
_pins_memory: Held[bool | None] = Held("pinned memory of loaders", None)


def keep_data_loader_order(*args: bool) -> bool | None:
    """Whether loaders keep the order of their source; with an argument it is set. They keep it
    here either way: it is one of those in which they may come.
    """
    return _asked_or_set("keep_data_loader_order", _keeps_order, args)


def use_pinned_memory(*args: bool) -> bool | None:
    """Whether loaders of CUDA devices use pinned memory, None if nobody said so; with an argument
    it is set. Batches are the same either way.
    """
    return _asked_or_set("use_pinned_memory", _pins_memory, args)


def _asked_or_set(call: str, held: Held[bool | None], args: tuple[bool, ...]) -> bool | None:
    if not args:
        return held.value
    if len(args) != 1 or not isinstance(args[0], bool):
        raise BadArgument(f"{call} takes one bool, but received {args}")
    held.value = args[0]
    return None


def _reader_process_loop(batch_reader: Callable[[], Any], data_queue: Any) -> None:
    """Put the batches of a reader on a queue, lists of Tensors, and None behind the last: what a
    process that loads data does.
    """
    _set_process_signal_handler()
    for batch in generator_loader.regular_batches(batch_reader):
        data_queue.put([share(field) for field in batch])
    data_queue.put(None)


class DataLoaderBase:
    """What a loader of one's own derives from."""

    def __init__(self) -> None:
        self._places = None

    def __call__(self) -> Any:
        return self

    def next(self) -> Any:
        return self.__next__()

    def __iter__(self) -> Any:
        raise NotSupported("DataLoaderBase.__iter__: a derived class says what it gives")

    def __next__(self) -> Any:
        raise NotSupported("DataLoaderBase.__next__: a derived class says what it gives")


class DygraphGeneratorLoader(generator_loader.GeneratorLoader):
    """The loader of ``DataLoader.from_generator`` in eager code."""

    _data_queue: Any = None  # what a script that reads in a process of its own sets

    def _reader_process_loop(self) -> None:
        """Put the batches on ``_data_queue``, as a process that loads data does."""
        if self._batch_reader is None or self._data_queue is None:
            raise BadArgument(
                "DataLoader: a process that reads needs a source, see the set_*_generator methods, "
                "and a queue, _data_queue"
            )
        _reader_process_loop(self._batch_reader, self._data_queue)


class DataLoader(io.DataLoader):
    """As ``paddle.io.DataLoader``."""

    @staticmethod
    def from_generator(
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> Any:
        """A loader whose data come from a Python generator, named by one of its ``set_*_generator``
        methods.

        For variables of a program it yields a dict for each place, or with ``return_list`` a list
        for each place; with ``iterable=False`` the program reads from it. Without, it yields lists
        of Tensors, which ``use_multiprocess`` has a process read.

        Example:
            >>> import numpy as np
            >>> import paddle.fluid as fluid
            >>> with fluid.program_guard(fluid.Program()):
            ...     x = fluid.data("x", [None, 2])
            ...     loader = fluid.io.DataLoader.from_generator([x], capacity=2)
            >>> _ = loader.set_batch_generator(lambda: iter([[np.ones((3, 2), "float32")]]),
            ...     fluid.CPUPlace())
            >>> [[feed["x"].shape() for feed in feeds] for feeds in loader]
            [[[3, 2]]]
            >>> paddle.disable_static()
        """
        if feed_list and isinstance(feed_list[0], Variable):
            options = (use_double_buffer, iterable, return_list, drop_last)
            return ProgramLoader(feed_list, capacity, *options, nests_lists=True)
        return DygraphGeneratorLoader(
            feed_list, capacity, use_double_buffer, iterable, True, use_multiprocess
        )


class PyReader:
    """The loader of 1.5 and before: ``DataLoader.from_generator`` with other names of its
    methods.
    """

    def __init__(
        self,
        feed_list: Sequence[Any] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
    ) -> None:
        self._loader = DataLoader.from_generator(
            feed_list, capacity, use_double_buffer, iterable, return_list
        )

    @property
    def iterable(self) -> bool:
        return bool(self._loader.iterable)

    @property
    def queue(self) -> Any:
        """Where the script may push batches itself."""
        return self._loader.queue

    def decorate_sample_generator(
        self,
        sample_generator: Callable[[], Any],
        batch_size: int,
        drop_last: bool = True,
        places: Any = None,
    ) -> None:
        """``sample_generator()`` gives samples, tuples of fields."""
        self._loader.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(self, reader: Callable[[], Any], places: Any = None) -> None:
        """``reader()`` gives lists of samples, such as ``paddle.batch`` makes."""
        self._loader.set_sample_list_generator(reader, places)

    def decorate_batch_generator(self, reader: Callable[[], Any], places: Any = None) -> None:
        """``reader()`` gives batches: a list with an array for each variable."""
        self._loader.set_batch_generator(reader, places)

    decorate_paddle_reader = decorate_sample_list_generator
    decorate_tensor_provider = decorate_batch_generator

    def start(self) -> None:
        """Begin a pass over the generator; for readers that are not iterable."""
        self._loader.start()

    def reset(self) -> None:
        """End the pass; for readers that are not iterable."""
        self._loader.reset()

    def __iter__(self) -> Any:
        return iter(self._loader)

    def __call__(self) -> Any:
        return iter(self._loader)
