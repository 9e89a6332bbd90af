"""Batches of a loader that can begin in the middle of an epoch, and the random generators that
decide on them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import CheckpointError
from argosy.foundation.preemption import shield_child
from argosy.io import DistributedBatchSampler
from argosy.io.batch_sampler import _batches, _fill_up, _share_of

State = dict[str, Any]


def random_state() -> State:
    """The state of Python's, NumPy's and torch's generators; paddle draws from the last."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: State) -> None:
    """Put back what ``random_state`` gave."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.device_count() == len(state["cuda"]):
        torch.cuda.set_rng_state_all(state["cuda"])


def checked(state: Any, source: str) -> State:
    """The state of a rank or worker that was read from ``source``: what it trains with
    (``objects``) and where it is (``progress``).
    """
    try:
        progress, objects = state["progress"], state["objects"]
        counts = [progress["num_steps"], progress["epoch"]]
        _check_random(progress["random"])
        data = progress["data"]
        if data is not None:
            position = Position(**data["position"])
            counts += position.state().values()
            _check_random(data["random"])
            counts.append(0 if data["epoch"] is None else data["epoch"])
    except (
        KeyError,
        TypeError,
        ValueError,
        RuntimeError,
        AttributeError,
        IndexError,
        OverflowError,
    ) as error:
        raise CheckpointError(f"{source} does not hold the state of a rank: {error!r}") from error
    if not isinstance(objects, dict) or any(
        type(count) is not int or count < 0 for count in counts
    ):
        raise CheckpointError(
            f"{source} does not hold the state of a rank: its counts are {counts}"
        )
    return dict(state)


def _check_random(state: State) -> None:
    """Raise what putting the state back would raise; no generator of the process changes."""
    random.Random().setstate(state["python"])
    np.random.RandomState().set_state(state["numpy"])
    torch.Generator().set_state(state["torch"])
    if not isinstance(state["cuda"], list):
        raise TypeError("the states of CUDA devices are no list")


@dataclass
class Position:
    """Where in an epoch the job is: ``num_batches`` that each rank had since sample ``offset`` of
    the epoch's order, which has ``order_size`` samples.
    """

    num_batches: int = 0
    offset: int = 0
    order_size: int = 0
    batch_size: int = 0
    world_size: int = 1

    def state(self) -> State:
        return asdict(self)

    @property
    def num_samples(self) -> int:
        """Samples that all ranks had in this epoch."""
        seen = self.offset + self.num_batches * self.batch_size * self.world_size
        return min(seen, self.order_size) if self.order_size else seen


class Batches:
    """Passes over ``loader``: a DataLoader of paddle or torch, or anything that gives batches when
    it is iterated.
    """

    def __init__(self, loader: Any, world_size: int) -> None:
        self._loader = loader
        self._world_size = world_size
        self._sampler: _Skipping | None = None
        inner = getattr(loader, "batch_sampler", None)
        if inner is not None:
            self._sampler = inner if isinstance(inner, _Skipping) else _Skipping(inner)
            object.__setattr__(
                loader, "batch_sampler", self._sampler
            )  # torch's own __setattr__ forbids it after construction
        if isinstance(loader, torch.utils.data.DataLoader) and loader.num_workers:
            loader.worker_init_fn = _Shielded(loader.worker_init_fn)
        self.position = self._new_position()
        self.random_at_start = random_state()
        self._epoch_at_start = self._epoch_of_sampler()
        self._waiting: Callable[[], None] | None = None

    def _new_position(self) -> Position:
        inner = self._sampler.inner if self._sampler is not None else self._loader
        size = getattr(inner, "total_size", 0) if isinstance(inner, DistributedBatchSampler) else 0
        return Position(0, 0, size, getattr(inner, "batch_size", 0) or 0, self._world_size)

    # -- iterating
    # ----------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """The batches of the epoch that are left. ``advance`` says that one was used."""
        then, self._waiting = self._waiting, None
        if then is not None:
            set_random_state(self.random_at_start)
            self._set_epoch_of_sampler(self._epoch_at_start)
        else:
            self.random_at_start, self._epoch_at_start = random_state(), self._epoch_of_sampler()
        if self._sampler is not None:
            self._sampler.prepare(self.position, then)
            yield from self._loader
            return
        batches = iter(self._loader)
        for _ in itertools.islice(batches, self.position.num_batches):
            pass
        if then is not None:
            then()
        yield from batches

    def mark(self) -> None:
        """The next pass, of which nothing is done, begins with the generators as they are now."""
        if (
            self._waiting is None
            and not self.position.num_samples
            and not self.position.num_batches
        ):
            self.random_at_start, self._epoch_at_start = random_state(), self._epoch_of_sampler()

    def advance(self) -> None:
        self.position.num_batches += 1

    def end_epoch(self) -> None:
        self.position = self._new_position()

    # -- state
    # ----------------------------------------------------------------------------------------------

    def state(self) -> State:
        return {
            "position": self.position.state(),
            "random": self.random_at_start,
            "epoch": self._epoch_at_start,
        }

    def set_state(self, state: State, then: Callable[[], None]) -> None:
        """Begin the next pass where ``state`` was taken; ``then`` is called before its first sample
        is loaded.
        """
        self.position = self.fitted(Position(**state["position"]))
        self.random_at_start, self._epoch_at_start = state["random"], state["epoch"]
        self._waiting = then

    def fitted(self, saved: Position) -> Position:
        """``saved`` in batches of this job; CheckpointError if it lies inside one."""
        here = self._new_position()
        if (saved.batch_size, saved.world_size) == (here.batch_size, here.world_size):
            return saved
        inner = self._sampler.inner if self._sampler is not None else self._loader
        seen = saved.num_samples
        if not seen:
            return here
        if type(inner) is DistributedBatchSampler:
            here.offset, here.order_size = seen, saved.order_size
            return here
        step = here.batch_size * here.world_size
        if not step or seen % step:
            raise CheckpointError(
                f"the checkpoint was taken after {seen} samples of an epoch, which "
                f"{here.world_size} ranks with batches of {here.batch_size} "
                "do not come to; use as many ranks as before, or a DistributedBatchSampler"
            )
        here.num_batches = seen // step
        return here

    def _epoch_of_sampler(self) -> Any:
        holder = self._epoch_holder()
        return None if holder is None else holder.epoch

    def _set_epoch_of_sampler(self, epoch: Any) -> None:
        holder = self._epoch_holder()
        if holder is not None and epoch is not None:
            holder.epoch = epoch

    def _epoch_holder(self) -> Any:
        """The sampler whose order depends on a number that it keeps."""
        inner = self._sampler.inner if self._sampler is not None else self._loader
        for candidate in (inner, getattr(inner, "sampler", None)):
            if isinstance(getattr(candidate, "epoch", None), int):
                return candidate
        return None


class _Shielded:
    """The first call in a worker of torch's loader, which is to live until the loop has saved;
    workers of paddle's do the same.
    """

    def __init__(self, inner: Callable[[int], Any] | None) -> None:
        self._inner = inner

    def __call__(self, worker_id: int) -> None:
        shield_child()
        if self._inner is not None:
            self._inner(worker_id)


class _Skipping:
    """A batch sampler that can leave out the first batches of its next pass, so that their samples
    need not be loaded.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._position = Position()
        self._then: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __len__(self) -> int:
        return len(self.inner)

    def prepare(self, position: Position, then: Callable[[], None] | None) -> None:
        """Begin the next pass at ``position`` and call ``then`` there; later passes are whole."""
        self._position, self._then = Position(**position.state()), then

    def __iter__(self) -> Iterator[Any]:
        position, then = self._position, self._then
        self._position, self._then = Position(), None
        batches = iter(self.inner) if position.offset == 0 else iter(_rest(self.inner, position))
        for _ in itertools.islice(batches, position.num_batches):
            pass
        if then is not None:
            then()
        yield from batches


def _rest(sampler: DistributedBatchSampler, position: Position) -> Iterator[list[int]]:
    """This rank's batches of what is left of an order that another number of ranks began."""
    order = _fill_up(len(sampler.dataset), position.order_size)
    if sampler.shuffle:
        np.random.RandomState(sampler.epoch).shuffle(order)
        sampler.epoch += 1
    left = order[position.offset :]
    left += [left[i % len(left)] for i in range(-len(left) % sampler.nranks)] if left else []
    share = _share_of(sampler.local_rank, sampler.nranks, sampler.batch_size, left)
    return _batches(share, sampler.batch_size, sampler.drop_last)
