"""Batches for programs from Python generators: what ``DataLoader.from_generator`` gives for
variables of a program.

An iterable loader is iterated and what it yields is fed. One that is not belongs to the program
that was recorded when it was made:
every run takes a batch from it, for each of its places, between ``start()`` and the EOFException at
the end of the generator.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, UsageError
from argosy.foundation.places import Place, to_place
from argosy.io.generator_loader import in_batches, read_ahead, regular
from argosy.reader.channel import Channel
from argosy.static.ir.lod import LoDTensor, lod_tensor_from_samples
from argosy.static.ir.program import Program
from argosy.static.ir.scope import raw_of
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import default_main_program
from argosy.tensor.engine import defaults, to_raw

Feed = dict[str, LoDTensor]


class EOFException(Exception):
    """The loader of a program has no more batches: ``reset()`` it, and ``start()`` it for another
    pass.

    No error: who catches those of argosy does not catch the end of the data.
    """


class LoDTensorBlockingQueue:
    """Batches that the script pushes for a program to read; without, it is the loader's source
    that gives them.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._channel = Channel(capacity)

    def push(self, lod_tensor_vec: Sequence[Any]) -> bool:
        """Add a batch, a LoDTensor for each variable, when there is room; False if it is closed."""
        return self._channel.put(list(lod_tensor_vec))

    def pop(self) -> list[Any] | None:
        """The next batch; None when it is closed and empty."""
        batch: list[Any] | None = self._channel.get()
        return batch

    def size(self) -> int:
        return len(self._channel)

    def capacity(self) -> int:
        return self._capacity

    def is_closed(self) -> bool:
        return self._channel.is_closed

    def close(self) -> None:
        """Let what is in it be the end."""
        self._channel.close()

    def reset(self) -> None:
        """Be empty and open again."""
        self._channel.reopen()

    kill = close


class ProgramLoader:
    """Gives the variables ``feed_list`` their values, batch by batch; one of the ``set_*`` methods
    names the source.

    ``capacity`` batches are read ahead in a thread. With several places, batches go to them in
    turn; ``drop_last`` leaves out a last round that has not one for each. ``use_double_buffer``
    changes nothing. As in 1.x ``thread`` is what reads ahead, which a script may join, and ends
    when the script sets ``exited``.
    """

    def __init__(
        self,
        feed_list: Sequence[Variable],
        capacity: int | None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        drop_last: bool = True,
        nests_lists: bool = False,
    ) -> None:
        if not capacity or capacity <= 0:
            raise UsageError(
                "DataLoader.from_generator: give a value to capacity, the number of batches to "
                "read ahead"
            )
        self.iterable = iterable
        self.feed_list = list(feed_list)
        self._capacity = int(capacity)
        self._returns_list = return_list
        self._drops_last = drop_last
        self._nests_lists = nests_lists  # 1.x has a list per place also where there is one place
        self._places: list[Place] = [defaults.place]
        self._source: Callable[[], Any] | None = None
        self._running: Generator[Feed] | None = None
        self.thread: threading.Thread | None = None  # of the last pass
        self.exited = False
        self._queue: LoDTensorBlockingQueue | None = None  # once the script has asked for it
        if not iterable:
            default_main_program().readers.append(self)

    @property
    def names(self) -> list[str]:
        """The variables that it gives values to."""
        return [v.name for v in self.feed_list]

    @property
    def queue(self) -> LoDTensorBlockingQueue:
        """Where the script may push batches itself, in place of ``start()``."""
        if self._queue is None:
            self._queue = LoDTensorBlockingQueue(self._capacity)
        return self._queue

    def _pushed(self) -> Generator[Feed]:
        while (batch := self.queue.pop()) is not None:
            yield self._named(batch)

    # -- the source
    # ----------------------------------------------------------------------------------------------

    def set_sample_generator(
        self, reader: Callable[[], Any], batch_size: int, drop_last: bool = True, places: Any = None
    ) -> ProgramLoader:
        """``reader()`` gives samples, tuples of fields; they are gathered into batches."""
        return self.set_sample_list_generator(in_batches(reader, batch_size, drop_last), places)

    def set_sample_list_generator(
        self, reader: Callable[[], Any], places: Any = None
    ) -> ProgramLoader:
        """``reader()`` gives lists of samples, such as ``paddle.batch`` makes."""

        def batches() -> Iterator[Feed]:
            for samples in reader():
                yield feed_of_samples(self.feed_list, samples)

        return self._set_source(batches, places)

    def set_batch_generator(self, reader: Callable[[], Any], places: Any = None) -> ProgramLoader:
        """``reader()`` gives batches: a list with an array, a LoDTensor or a Tensor for each
        variable.
        """

        def batches() -> Iterator[Feed]:
            for fields in reader():
                yield self._named(fields)

        return self._set_source(batches, places)

    decorate_sample_generator = set_sample_generator
    decorate_sample_list_generator = decorate_paddle_reader = set_sample_list_generator
    decorate_batch_generator = decorate_tensor_provider = set_batch_generator

    def _set_source(self, batches: Callable[[], Iterator[Feed]], places: Any) -> ProgramLoader:
        def read() -> Iterator[Feed]:
            self.thread = threading.current_thread()
            for feed in batches():
                if self.exited:
                    return
                yield feed

        self._source = read
        if places is not None:
            given = places if isinstance(places, (list, tuple)) else [places]
            self._places = [to_place(p) for p in given]
        return self

    def _named(self, fields: Any) -> Feed:
        values = list(fields.values() if isinstance(fields, dict) else fields)
        if len(values) != len(self.feed_list):
            raise UsageError(
                f"DataLoader: a batch has {len(values)} fields, but feed_list has "
                f"{len(self.feed_list)}: {self.names}"
            )
        return {
            v.name: _as_lod_tensor(value, v)
            for v, value in zip(self.feed_list, values, strict=True)
        }

    def _ahead(self) -> Generator[Feed]:
        if self._source is None:
            raise BadArgument(
                "DataLoader: its data source has not been set; call one of its set_*_generator "
                "methods"
            )
        return read_ahead(self._source, self._capacity)

    # -- iterable
    # ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        if not self.iterable:
            raise BadArgument(
                "DataLoader is not iterable; start() it and run the program, or make it with "
                "iterable=True"
            )
        return self._rounds()

    def __call__(self) -> Iterator[Any]:
        return self.__iter__()

    def _rounds(self) -> Iterator[Any]:
        batches = self._ahead()
        while group := _group(batches, len(self._places), self._drops_last):
            if not self._returns_list:
                yield group
                continue
            lists = [list(feed.values()) for feed in group]
            yield lists[0] if len(self._places) == 1 and not self._nests_lists else lists

    # -- read by a program
    # --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a pass over the generator."""
        self._check_of_program("start")
        if self._running is not None:
            raise UsageError("DataLoader.start: it runs already; reset() it first")
        self.exited = False
        self._running = self._ahead()

    def reset(self) -> None:
        """End the pass, also in its midst."""
        self._check_of_program("reset")
        running, self._running = self._running, None
        if running is not None:
            running.close()  # ends the thread that reads ahead
        if self._queue is not None:
            self._queue.reset()

    def _reset(self) -> None:
        """End what reads ahead for a pass that was left; one that is iterated ends with its
        iterator.
        """
        if not self.iterable:
            self.reset()

    def _check_of_program(self, call: str) -> None:
        if self.iterable:
            raise BadArgument(
                f"DataLoader.{call}() cannot be called when DataLoader is iterable; iterate it "
                "instead"
            )

    def next_feed(self, num_places: int = 1) -> list[Feed]:
        """The next batch for each of the places; fewer only at the end of a loader made with
        ``drop_last=False``.
        """
        if self._running is None and self._queue is not None:
            self._running = self._pushed()
        if self._running is None:
            raise UsageError(
                f"Executor.run: the program reads {self.names} from a DataLoader that has not "
                "been started; "
                "call its start(), or feed them"
            )
        group = _group(self._running, num_places, self._drops_last)
        if not group:
            raise EOFException(
                "There is no next data: the DataLoader of the program has come to the end of its "
                "generator"
            )
        return group


def next_feeds(program: Program, fed: dict[str, Any], num_places: int = 1) -> list[dict[str, Any]]:
    """What the loaders of ``program`` give each place for its next run; those are asked whose
    variables are not fed.
    """
    feeds: list[dict[str, Any]] = []
    for loader in program.readers:
        if all(name in fed for name in loader.names):
            continue
        group = loader.next_feed(num_places)
        feeds = feeds or [{} for _ in group]
        if len(group) != len(feeds):
            raise UsageError(
                "Executor.run: the DataLoaders of the program end with different numbers of "
                "batches left"
            )
        for feed, batch in zip(feeds, group, strict=True):
            feed.update(batch)
    return feeds


def feed_of_samples(feed_list: Sequence[Variable], samples: Iterable[Sequence[Any]]) -> Feed:
    """A batch by name from a list of samples, each with a field for every variable."""
    rows = list(samples)
    for row in rows:
        if len(row) != len(feed_list):
            raise BadArgument(
                f"The number of fields in data ({len(row)}) does not match len(feed_list) "
                f"({len(feed_list)})"
            )
    return {
        v.name: lod_tensor_from_samples([row[i] for row in rows], v.dtype, v.shape, v.lod_level)
        for i, v in enumerate(feed_list)
    }


def _group(batches: Iterator[Feed], size: int, drops_last: bool) -> list[Feed]:
    """The next ``size`` batches; none at the end, or where fewer are left that are to be
    dropped.
    """
    group: list[Feed] = []
    for feed in batches:
        group.append(feed)
        if len(group) == size:
            return group
    return [] if drops_last else group


def _as_lod_tensor(value: Any, variable: Variable) -> LoDTensor:
    if isinstance(value, LoDTensor):
        return value
    raw = raw_of(value)
    if raw is not None:
        return LoDTensor(raw)
    array = regular(value, f"what is read for {variable.name!r}")
    if not isinstance(value, np.ndarray):  # numbers without a dtype of their own
        array = array.astype(np.dtype(variable.dtype.name))
    return LoDTensor(to_raw(array))
