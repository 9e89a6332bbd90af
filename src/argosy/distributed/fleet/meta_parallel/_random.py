"""Named generators, between which a model switches: one drawn from alike on all ranks, another by
each rank for itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register
from argosy.framework import random

MODEL_PARALLEL_RNG = "model_parallel_rng"


class RNGStatesTracker:
    """Generators by name.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import RNGStatesTracker
        >>> tracker = RNGStatesTracker()
        >>> tracker.add("local_seed", 7)
        >>> with tracker.rng_state("local_seed"):
        ...     first = paddle.rand([2])
        >>> _ = paddle.seed(7)
        >>> bool((paddle.rand([2]) == first).all())
        True
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all of them."""
        self.states_: dict[str, Any] = {}
        self.seeds_: set[int] = set()

    def add(self, name: str, seed: int) -> None:
        """Make a generator; its name and its seed must be new."""
        if seed in self.seeds_:
            raise UsageError(f"RNGStatesTracker.add: seed {seed} already exists")
        if name in self.states_:
            raise UsageError(f"RNGStatesTracker.add: state {name} already exists")
        self.seeds_.add(seed)
        before = random.get_rng_state()
        random.seed(seed)
        self.states_[name] = random.get_rng_state()
        random.set_rng_state(before)

    def get_states_tracker(self) -> dict[str, Any]:
        """The states by name, to be saved."""
        return dict(self.states_)

    def set_states_tracker(self, states: dict[str, Any]) -> None:
        """Take back saved states of generators that were added."""
        for name in states:
            self._need(name)
        self.states_.update(states)

    @contextlib.contextmanager
    def rng_state(self, name: str = MODEL_PARALLEL_RNG) -> Iterator[None]:
        """Draw from generator ``name`` within the block."""
        self._need(name)
        before = random.get_rng_state()
        random.set_rng_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = random.get_rng_state()
            random.set_rng_state(before)

    def _need(self, name: str) -> None:
        if name not in self.states_:
            raise UsageError(
                f"RNGStatesTracker: state {name} does not exist; there are {sorted(self.states_)}"
            )


_tracker = register("generators by name", RNGStatesTracker())


def get_rng_state_tracker() -> RNGStatesTracker:
    """The tracker that all layers share."""
    return _tracker


def model_parallel_random_seed(seed: int | None = None) -> None:
    """Seed what all ranks draw alike with ``seed``, by default a random number, and what ranks that
    share tensors draw for themselves with the next.
    """
    chosen = seed or int(np.random.randint(0, 10000))
    _tracker.reset()
    _tracker.add(MODEL_PARALLEL_RNG, chosen + 1)
    random.seed(chosen)
