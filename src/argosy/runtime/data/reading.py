"""Files to records: several are read at a time, each by a thread of its own, and given out in the
order of the list.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType

import numpy as np
import numpy.typing as npt

from argosy.runtime.data.parser import Parser
from argosy.runtime.data.pipes import Pipe
from argosy.runtime.data.records import Records, concatenated
from argosy.runtime.data.slots import Layout

_CHUNKS_AHEAD = 4
_POLL_S = 0.05  # how long a thread that waits to hand over takes to notice that nobody wants it


class _Stopped(Exception):
    """Nobody wants the rest."""


class _FileReader:
    """One file, read ahead by a few chunks in a thread."""

    def __init__(self, pipe: Pipe, parser: Parser, stop: threading.Event) -> None:
        self.pipe, self._parser, self._stop = pipe, parser, stop
        self._queue: queue.Queue[Records | BaseException | None] = queue.Queue(_CHUNKS_AHEAD)
        self.thread = threading.Thread(
            target=self._run, name=f"argosy-data {pipe.path}", daemon=True
        )
        self.thread.start()

    def _run(self) -> None:
        try:
            line = 1
            with self.pipe as pipe:
                for text in pipe.chunks():
                    self._put(self._parser.parse(text, pipe.source, line))
                    line += text.count(b"\n")
            self._put(None)
        except _Stopped:
            pass
        except BaseException as error:  # told to whoever waits for the records
            with contextlib.suppress(_Stopped):
                self._put(error)

    def _put(self, item: Records | BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                return self._queue.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
        raise _Stopped

    def __iter__(self) -> Iterator[Records]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


class Reading:
    """The records of ``paths``, at most ``num_threads`` files at a time; a context manager, whose
    end ends threads and commands.

    The order does not depend on ``num_threads``. Memory is bounded: a file is read ahead by a few
    megabytes.
    """

    def __init__(
        self,
        layout: Layout,
        paths: Sequence[str],
        command: str = "cat",
        download_command: str = "cat",
        num_threads: int = 1,
    ) -> None:
        self._parser = Parser(layout)
        self._pipes = [Pipe(path, command, download_command) for path in paths]
        self._num_threads = max(1, min(num_threads, len(paths)))
        self._stop = threading.Event()
        self._readers: list[_FileReader] = []
        # Also when the process ends: a thread inside of compiled code then would abort it.
        self._end = weakref.finalize(self, _end, self._stop, self._readers)

    @property
    def is_float(self) -> npt.NDArray[np.bool_]:
        """For each slot whether it holds floats."""
        return self._parser.is_float

    def __enter__(self) -> Reading:
        return self

    def __iter__(self) -> Iterator[Records]:
        """Chunks of records; to be iterated once."""
        for number in range(len(self._pipes)):
            while len(self._readers) < min(number + self._num_threads, len(self._pipes)):
                self._readers.append(
                    _FileReader(self._pipes[len(self._readers)], self._parser, self._stop)
                )
            yield from self._readers[number]

    def all(self) -> Records:
        """Everything."""
        return concatenated(list(self), self._parser.is_float)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()


def _end(stop: threading.Event, readers: Sequence[_FileReader]) -> None:
    stop.set()
    for reader in readers:
        reader.pipe.cancel()  # its thread may be waiting for a command that says nothing
    for reader in readers:
        reader.thread.join()


def batches(chunks: Iterable[Records], size: int) -> Iterator[Records]:
    """Records of ``size`` samples each, across the borders of chunks; the last may have fewer."""
    held: list[Records] = []
    count = 0
    for chunk in chunks:
        held.append(chunk)
        count += len(chunk)
        if count < size:
            continue
        whole = concatenated(held, chunk.is_float)
        full = count // size * size
        for begin in range(0, full, size):
            yield whole.slice(begin, begin + size)
        held, count = ([whole.slice(full, count)], count - full) if full < count else ([], 0)
    if count:
        yield concatenated(held, held[0].is_float)
