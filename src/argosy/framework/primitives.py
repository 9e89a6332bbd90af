"""Whether Paddle would break operators into primitive ones before it runs or differentiates them.

Both ways compute the same numbers. Here operators are always computed as they are; what was asked
for is kept, since scripts set it, read it and put it back.
"""

from __future__ import annotations

from argosy.foundation.process_state import register


class Primitives:
    """What was asked for."""

    def __init__(self) -> None:
        self.forward = False
        self.backward = False
        self.eager = False
        self.forward_blacklist: set[str] = set()
        self.backward_blacklist: set[str] = set()


primitives = register("primitive operators", Primitives())
