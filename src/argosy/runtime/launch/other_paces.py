"""What the launchers of several hosts tell each other of their processes, so that the first host
can show all of them.

Every launcher posts a summary now and then; the one of the first host reads all of them. The job
does not depend on it: when the store is lost, or holds something else, that is the end of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import CommError
from argosy.runtime.observe import others
from argosy.runtime.observe.summary import Pace

_EVERY_S = 2.0
NOTHING = "[]"  # what a launcher posts before it meets the others


class OtherPaces:
    """``keys`` are those of all hosts, each set to NOTHING when the hosts have met; ``me`` is this
    host's place among them. Only who ``reads`` learns of the others.
    """

    def __init__(self, store: Any, keys: Sequence[str], me: int, *, reads: bool) -> None:
        self._store = store
        self._own = keys[me]
        self._keys = [key for number, key in enumerate(keys) if number != me] if reads else []
        self._next_s = 0.0
        self._is_lost = False

    def exchange(self, mine: Sequence[Pace]) -> list[Pace] | None:
        """Post what is known here, if it is time to; what others have posted, None if that was not
        asked for now.
        """
        now_s, now_ns = time.monotonic(), time.perf_counter_ns()
        if self._is_lost or now_s < self._next_s:
            return None
        self._next_s = now_s + _EVERY_S
        try:
            self._store.set(self._own, others.encode(mine, now_ns))
            if not self._keys:
                return None
            return [
                pace
                for value in self._store.multi_get(self._keys)
                for pace in others.decode(bytes(value), now_ns)
            ]
        except (CommError, ValueError):
            self._is_lost = True
            return None
