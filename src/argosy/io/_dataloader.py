"""DataLoader: batches of Tensors from a dataset, in this process or from worker processes."""

from __future__ import annotations

import itertools
import multiprocessing.connection
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import torch_private
from argosy.foundation.account import DATA, account
from argosy.foundation.errors import BadArgument, ChildFailed, NotSupported, UsageError
from argosy.foundation.places import Place, to_place
from argosy.foundation.witness import seat
from argosy.framework.mode import in_dynamic_mode
from argosy.io._collate import default_collate_fn, default_convert_fn, to_tensors
from argosy.io._dataset import IterableDataset, NoLength
from argosy.io.batch_sampler import BatchSampler
from argosy.io.generator_loader import GeneratorLoader
from argosy.io.read_clock import clock
from argosy.io.worker import Collate, Start, Stream, worker_loop
from argosy.tensor.engine import defaults

_GRACE_S = 1.0


class DataLoader:
    """Iterate a dataset in batches of Tensors.

    ``batch_size`` with ``shuffle`` and ``drop_last``, or a ``batch_sampler``, says which samples
    make a batch; ``batch_size=None`` serves samples as they are. With ``num_workers`` processes
    load ahead, ``prefetch_factor`` batches each; an exception in one is raised here with its
    traceback, and they end with the iterator. ``use_buffer_reader`` and ``reader_buffer_size`` are
    accepted: without workers a batch is loaded when it is asked for.

    In a static program ``places`` may be several: each step is then a list with a batch for each of
    them, and batches that are too few for a last step are left out.

    Example:
        >>> class Squares(paddle.io.Dataset):
        ...     def __getitem__(self, i):
        ...         return i, i * i
        ...     def __len__(self):
        ...         return 5
        >>> for i, square in paddle.io.DataLoader(Squares(), batch_size=2):
        ...     print(i.tolist(), square.tolist())
        [0, 1] [0, 1]
        [2, 3] [4, 9]
        [4] [16]
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Sequence[Any] | None = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Any = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Any = None,
        persistent_workers: bool = False,
    ) -> None:
        for name, value, least in (
            ("num_workers", num_workers, 0),
            ("timeout", timeout, 0),
            ("prefetch_factor", prefetch_factor, 1),
        ):
            if value < least:
                raise BadArgument(
                    f"DataLoader: {name} should be at least {least}, but received {value}"
                )
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = _places(places)
        self.return_list = return_list
        self.drop_last = drop_last
        self.collate_fn = collate_fn
        self.num_workers = num_workers
        self.use_buffer_reader = use_buffer_reader
        self.reader_buffer_size = reader_buffer_size
        self.prefetch_factor = prefetch_factor
        self.use_shared_memory = use_shared_memory and num_workers > 0
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.batch_sampler = self._make_batch_sampler(batch_sampler, batch_size, shuffle, drop_last)
        self.batch_size = batch_size if batch_sampler is None else None
        self._persistent_workers = persistent_workers
        self._persistent_loader: Any = None
        if not return_list and not in_dynamic_mode() and feed_list is None:
            raise BadArgument("DataLoader: feed_list should be set when return_list=False")

    def _make_batch_sampler(
        self, batch_sampler: Any, batch_size: Any, shuffle: bool, drop_last: bool
    ) -> Any:
        is_stream = isinstance(self.dataset, IterableDataset)
        if is_stream and (shuffle or batch_sampler is not None):
            wrong = "shuffle" if shuffle else "batch_sampler"
            raise UsageError(
                f"DataLoader: IterableDataset does not support {wrong}; its order is its own"
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise BadArgument(
                    "DataLoader: batch_size/shuffle/drop_last should not be set when "
                    "batch_sampler is given"
                )
            return batch_sampler
        if batch_size is None:
            return None
        if not isinstance(batch_size, int) or batch_size <= 0:
            raise BadArgument(
                "DataLoader: batch_size should be None or a positive integer, but received "
                f"{batch_size!r}"
            )
        return (
            None if is_stream else BatchSampler(self.dataset, None, shuffle, batch_size, drop_last)
        )

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

        Where ``feed_list`` holds variables of a static program it feeds these; ``iterable``,
        ``return_list`` and ``drop_last`` matter only there. Elsewhere ``use_multiprocess`` runs the
        generator in a process of its own; as in Paddle it changes nothing for programs.
        """
        if feed_list and hasattr(feed_list[0], "new_loader"):
            return feed_list[0].new_loader(
                feed_list, capacity, use_double_buffer, iterable, return_list, drop_last
            )
        return GeneratorLoader(
            feed_list, capacity, use_double_buffer, iterable, return_list, use_multiprocess
        )

    @staticmethod
    def from_dataset(dataset: Any, places: Any, drop_last: bool = True) -> Any:
        """Iterate a dataset of ``paddle.distributed`` for static programs: lists of feeds, one for
        each of ``places``.
        """
        if not hasattr(dataset, "new_loader"):
            raise BadArgument("DataLoader.from_dataset: dataset must be type of DatasetBase")
        return dataset.new_loader(places, drop_last)

    @property
    def _collates(self) -> Any:
        forms_batches = self.batch_sampler is not None or self.batch_size is not None
        return self.collate_fn or (default_collate_fn if forms_batches else default_convert_fn)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            raise NoLength("DataLoader: the length of an IterableDataset is not known")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def __iter__(self) -> BatchIterator:
        return BatchIterator(
            self, iter(self._worker_loader()) if self.num_workers else _load_here(self)
        )

    def __call__(self) -> BatchIterator:
        return self.__iter__()

    def _worker_loader(self) -> Any:
        """torch's loader over our dataset; one that keeps its workers is kept."""
        if self._persistent_loader is not None:
            return self._persistent_loader
        base_seed = int(np.random.randint(0, sys.maxsize))
        loader = torch.utils.data.DataLoader(
            **self._worker_source(),
            collate_fn=Collate(self._collates, self.use_shared_memory),
            num_workers=self.num_workers,
            prefetch_factor=self.prefetch_factor,
            timeout=self.timeout,
            worker_init_fn=Start(self.dataset, self.num_workers, base_seed, self.worker_init_fn),
            persistent_workers=self._persistent_workers,
            generator=torch.Generator().manual_seed(base_seed),
            # Datasets of scripts are often classes inside functions, which only fork can carry over
            multiprocessing_context="fork"
            if "fork" in multiprocessing.get_all_start_methods()
            else None,
        )
        if self._persistent_workers:
            self._persistent_loader = loader
        return loader

    def _worker_source(self) -> dict[str, Any]:
        if isinstance(self.dataset, IterableDataset):
            drop_last = self.drop_last and self.batch_size is not None
            return {
                "dataset": Stream(self.dataset),
                "batch_size": self.batch_size,
                "drop_last": drop_last,
            }
        if self.batch_sampler is None:
            return {
                "dataset": self.dataset,
                "batch_size": None,
                "sampler": range(len(self.dataset)),
            }
        return {"dataset": self.dataset, "batch_sampler": self.batch_sampler}


class BatchIterator:
    """One pass over a DataLoader."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        self._loader = loader
        self._batches = batches
        names = [variable.name for variable in loader.feed_list or ()]
        self._names = names if not loader.return_list and not in_dynamic_mode() else None

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        mark = account.enter()
        try:
            batch = self._timed()
        finally:
            account.leave(DATA, mark)
        if seat.witness is not None:
            seat.witness.batch(batch)
        return batch

    def _timed(self) -> Any:
        if clock.listener is None:
            return self._read()
        start_s = time.perf_counter()
        batch = self._read()
        clock.listener(self._loader.dataset, time.perf_counter() - start_s)
        return batch

    def next(self) -> Any:
        """The next batch, as scripts ask that were written for Python 2."""
        return self.__next__()

    def _read(self) -> Any:
        try:
            batches = [to_tensors(self._next_batch(), place) for place in self._loader.places]
        except BaseException:
            # The traceback keeps the frames, and so the workers, alive: end them now
            if not self._loader._persistent_workers:
                self.close()
            raise
        if self._names is None:
            return batches[0] if len(batches) == 1 else batches
        return [
            dict(zip(self._names, batch if isinstance(batch, list) else [batch], strict=True))
            for batch in batches
        ]

    def _next_batch(self) -> Any:
        """The next batch, or who did not bring it.

        A batch is fetched from the worker that made it. One that dies meanwhile shuts its sockets
        before the system counts it as ended, so torch may still think that all of them live.
        """
        try:
            return next(self._batches)
        except (ConnectionError, EOFError) as error:
            workers = getattr(self._batches, "_workers", ())
            if not workers:
                raise
            dead = multiprocessing.connection.wait([w.sentinel for w in workers], _GRACE_S)
            if not dead:
                raise
            pids = ", ".join(str(worker.pid) for worker in workers if worker.sentinel in dead)
            raise ChildFailed(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from error

    def close(self) -> None:
        """End the worker processes of this pass."""
        batches: Any = self._batches
        if hasattr(batches, "_shutdown_workers"):
            workers = list(batches._workers)
            batches._shutdown_workers()
            _kill(workers)
        self._batches = iter(())

    def __len__(self) -> int:
        return len(self._loader)

    # -- what scripts that are workers themselves ask a pass with workers for

    @property
    def _dataset(self) -> Any:
        return self._loader.dataset

    @property
    def _data_queue(self) -> Any:
        return torch_private.data_worker_ends(self._batches)[0]

    @property
    def _workers_done_event(self) -> Any:
        return torch_private.data_worker_ends(self._batches)[1]

    def _worker_loop(
        self,
        dataset: Any,
        indices_queue: Any,
        out_queue: Any,
        done_event: Any,
        collate_fn: Any,
        init_fn: Any,
        worker_id: int,
    ) -> None:
        """Be a worker of this pass, as ``worker.worker_loop``, for a dataset with indices."""
        loader = self._loader
        ends = (loader.num_workers, loader.use_shared_memory)
        source = (dataset, 0, indices_queue, out_queue, done_event)
        worker_loop(*source, True, collate_fn, loader.drop_last, init_fn, worker_id, *ends)


def _kill(workers: Sequence[Any]) -> None:
    """End the processes that have not ended when they were asked to."""
    for worker in workers:
        worker.join(_GRACE_S)
        if worker.is_alive():
            worker.kill()
            worker.join()


def _load_here(loader: DataLoader) -> Iterator[Any]:
    collate, dataset = loader._collates, loader.dataset
    if isinstance(dataset, IterableDataset):
        yield from _load_stream(loader, collate)
    elif loader.batch_sampler is None:
        for i in range(len(dataset)):
            yield collate(dataset[i])
    else:
        for indices in loader.batch_sampler:
            yield collate([dataset[i] for i in indices])


def _load_stream(loader: DataLoader, collate: Any) -> Iterator[Any]:
    samples = iter(loader.dataset)
    if loader.batch_size is None:
        yield from map(collate, samples)
        return
    while batch := list(itertools.islice(samples, loader.batch_size)):
        if len(batch) == loader.batch_size or not loader.drop_last:
            yield collate(batch)


def _places(places: Any) -> list[Place]:
    """Where batches go: the current place, the one given, or one after another of those given."""
    if places is None:
        return [defaults.place]
    if not isinstance(places, (list, tuple)):
        return [to_place(places)]
    if len(places) > 1 and in_dynamic_mode():
        raise NotSupported(
            f"DataLoader: one process feeds one place, but received {len(places)}: {places}; "
            "several are for programs"
        )
    return [to_place(place) for place in places]
