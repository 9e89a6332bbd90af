"""Whether values were assigned to tensors behind the engine's back.

``set_value`` and initialisers are no change in place: they leave a tensor's version as it is. Who
keeps something computed from a tensor, as mixed precision keeps casts of weights, compares the
version and this count.
"""

from __future__ import annotations

from argosy.foundation.process_state import register


class _Assignments:
    """How many there were in this process."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


# what matters is that the count has changed: going on from any number is as good as from zero
assignments = register("assignments", _Assignments(), state=lambda: None, reset=lambda: None)
