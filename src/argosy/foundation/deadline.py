"""A point in time until which something may take: one value handed down a chain of blocking
calls.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from argosy.foundation.errors import CollectiveTimeout


@dataclass(frozen=True)
class Deadline:
    """``seconds`` is what was granted, for messages; ``at_s`` the moment on the monotonic clock."""

    seconds: float
    at_s: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The moment ``seconds`` from now; ``math.inf`` never comes."""
        return cls(seconds, time.monotonic() + seconds)

    @classmethod
    def never(cls) -> Deadline:
        """A deadline that does not come."""
        return cls.after(math.inf)

    def remaining_s(self) -> float:
        """Seconds left, 0 when it has passed."""
        return max(0.0, self.at_s - time.monotonic())

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self.at_s

    def check(self, what: str) -> None:
        """Raise CollectiveTimeout, saying that ``what`` was not done in time, if the deadline has
        passed.
        """
        if self.expired:
            raise CollectiveTimeout(f"{what}: not done within {self.seconds:g} s")
