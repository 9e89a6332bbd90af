"""Sharing the batches of a reader among the ranks of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from argosy.distributed import ParallelEnv


def distributed_batch_reader(batch_reader: Callable[[], Any]) -> Callable[[], Iterator[Any]]:
    """A reader of every nranks-th batch, beginning with the one of this rank's number.

    A round in which not every rank would get a batch is dropped, so all ranks get equally many.

    Example:
        >>> import paddle.fluid as fluid
        >>> reader = fluid.contrib.reader.distributed_batch_reader(lambda: iter("abc"))
        >>> list(reader())
        ['a', 'b', 'c']
    """
    env = ParallelEnv()

    def read() -> Iterator[Any]:
        mine = None
        for number, batch in enumerate(batch_reader()):
            if number % env.nranks == env.local_rank:
                mine = batch
            if number % env.nranks == env.nranks - 1:
                yield mine

    return read
