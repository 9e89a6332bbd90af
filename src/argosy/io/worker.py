"""What happens inside a worker process of a DataLoader.

torch's DataLoader starts and ends the processes, keeps the order of the batches and carries
exceptions and shared memory across. What it runs there is ours: these objects travel to the worker
and are called by it.
"""

from __future__ import annotations

import multiprocessing.util
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset as TorchIterableDataset

from argosy.foundation import torch_private as private
from argosy.foundation.preemption import shield_child
from argosy.foundation.process_state import Held
from argosy.io._collate import map_leaves
from argosy.tensor.engine import defaults, to_raw, wrap


class WorkerInfo:
    """``id`` of this worker, ``num_workers``, its copy of the ``dataset``, and the ``seed`` that
    all workers share.
    """

    __slots__ = ("dataset", "id", "num_workers", "seed")

    def __init__(self, id: int, num_workers: int, dataset: Any, seed: int) -> None:
        self.id = id
        self.num_workers = num_workers
        self.dataset = dataset
        self.seed = seed

    def __repr__(self) -> str:
        return (
            f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, dataset={self.dataset!r}, "
            f"seed={self.seed})"
        )


# A batch travels as a descriptor through a socket whose name may have 107 characters: that of the
# folder for temporary files, and "/pymp-xxxxxxxx/listener-xxxxxxxx"
_LONGEST_FOLDER = 107 - 32

# set once in a worker process, None elsewhere
_info: Held[WorkerInfo | None] = Held("worker of a DataLoader", None)


def get_worker_info() -> WorkerInfo | None:
    """Inside a worker process of a DataLoader, which one it is; None in the main process."""
    return _info.value


class Start:
    """The first call in a worker: tell it who it is, seed its generators as Paddle does, run the
    script's own function.
    """

    def __init__(
        self,
        dataset: Any,
        num_workers: int,
        base_seed: int,
        worker_init_fn: Callable[[int], Any] | None,
    ) -> None:
        self.dataset = dataset
        self.num_workers = num_workers
        self.base_seed = base_seed
        self.worker_init_fn = worker_init_fn

    def __call__(self, worker_id: int) -> None:
        shield_child()
        _info.value = WorkerInfo(worker_id, self.num_workers, self.dataset, self.base_seed)
        _shorten_sockets()
        defaults.set_place("cpu")
        seed = self.base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(generate_states(self.base_seed, worker_id))
        if self.worker_init_fn is not None:
            self.worker_init_fn(worker_id)


def generate_states(base_seed: int = 0, worker_id: int = 0) -> list[int]:
    """The words that seed NumPy in a worker."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(words).generate_state(4)]


def worker_loop(
    dataset: Any,
    dataset_kind: int,
    indices_queue: Any,
    out_queue: Any,
    done_event: Any,
    auto_collate_batch: bool,
    collate_fn: Callable[[Any], Any],
    drop_last: bool,
    init_fn: Callable[[int], Any] | None,
    worker_id: int,
    num_workers: int,
    use_shared_memory: bool,
    base_seed: int = 0,
    shm_cache_size: int = 0,
) -> None:
    """Be worker ``worker_id`` of a loader: collate the samples of each ``(number, indices)`` of
    ``indices_queue`` into ``out_queue``, until it gives None.

    ``dataset_kind`` is 0 for datasets with indices, 1 for streams. Shared memory that was used is
    given back at once, so ``shm_cache_size`` changes nothing.
    """
    is_stream = bool(dataset_kind)
    private.data_worker_loop()(
        dataset_kind,
        Stream(dataset) if is_stream else dataset,
        indices_queue,
        out_queue,
        done_event,
        auto_collate_batch,
        Collate(collate_fn, use_shared_memory),
        drop_last,
        base_seed,
        Start(dataset, num_workers, base_seed, init_fn),
        worker_id,
        num_workers,
        False,  # workers that end with the pass
        base_seed,
    )


def _shorten_sockets() -> None:
    """Have this worker put its sockets into /tmp where TMPDIR is too long for their names."""
    folder = tempfile.gettempdir()
    if len(folder) > _LONGEST_FOLDER:
        tempfile.tempdir = "/tmp"
        multiprocessing.util.get_temp_dir()  # made once; removed when the worker ends
        tempfile.tempdir = folder


class Collate:
    """Collate, and turn arrays into Tensors where the batch is to travel through shared memory."""

    def __init__(self, collate_fn: Callable[[Any], Any], use_shared_memory: bool) -> None:
        self.collate_fn = collate_fn
        self.use_shared_memory = use_shared_memory

    def __call__(self, samples: Any) -> Any:
        batch = self.collate_fn(samples)
        return map_leaves(share, batch) if self.use_shared_memory else batch


def share(leaf: Any) -> Any:
    """An array as a Tensor, which travels to another process through shared memory."""
    return wrap(to_raw(leaf)) if isinstance(leaf, np.ndarray) else leaf


class Stream(TorchIterableDataset):  # type: ignore[type-arg]
    """An IterableDataset of ours in torch's clothes."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        return iter(self.dataset)
