"""``fluid.reader``: loaders that feed programs, and eager code, from Python generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy import io
from argosy.static import Variable
from argosy.static.run.readers import ProgramLoader


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
        return io.DataLoader.from_generator(
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
