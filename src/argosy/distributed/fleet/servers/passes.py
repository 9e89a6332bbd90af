"""The passes over datasets of a loop that saves the job; ``progress.Pass`` is one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Passes", "State"]

State = dict[str, Any]


class Passes:
    """The passes over datasets that a loop of ``auto_checkpoint`` counts: what each has ended with,
    and where the one under way is (``now``). ``found`` is where a job before this one was.

    ``count`` is called when a batch is done, ``num_steps`` tells how many are.
    """

    def __init__(self, count: Callable[[], None], num_steps: Callable[[], int]) -> None:
        self._count = count
        self.num_steps = num_steps
        self.ended: list[State] = []
        self.now: State | None = None
        self.found: State | None = None

    def advance(self, state: State) -> None:
        """A batch is done, and the pass is at ``state``."""
        self.now = state
        self._count()

    def state(self) -> State | None:
        """For a checkpoint; None before the first pass."""
        return None if self.now is None else {"ended": self.ended, "now": self.now}

    def set_state(self, state: State | None) -> None:
        if state is not None:
            self.ended, self.found = list(state["ended"]), state["now"]
