"""Whether a rank writes large pieces past the cache (``streaming.py``): both ways are tried after
each of the first large collectives of its group.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_STREAMED = 1 << 14  # bytes; below it streaming costs more than it saves
TRIAL_BYTES = 1 << 18  # of a piece in the trial, and of the collectives that lead to it
_NUM_TRIALS = 8
_ROUNDS = 4  # so that the buffers of even and of odd steps see both ways


class Trial:
    """What one rank has found; ``streams`` is how it writes.

    The shortest time of each way counts: that of a rank that was held up says nothing about memory.
    Since each waits for all others in an exchange, what one of them loses all see. Trials are
    spread over several collectives because the ranks may share a core at the first.
    """

    def __init__(self, world_size: int) -> None:
        self.streams = False
        self._num_left = _NUM_TRIALS if world_size > 1 else 0
        self._shortest_ns: dict[bool, int] = {}

    def follow(self, num_bytes: int, exchange: Callable[[], bool]) -> None:
        """Try both ways, if that is still wanted after a collective that moved ``num_bytes``, the
        same on all ranks.

        ``exchange``, which all ranks call together, writes as ``streams`` says and returns whether
        its time counts.
        """
        if self._num_left == 0 or num_bytes < TRIAL_BYTES:
            return
        self._num_left -= 1
        for number in range(_ROUNDS):
            self.streams = number >= _ROUNDS // 2
            began_ns = time.perf_counter_ns()
            if exchange():
                taken_ns = time.perf_counter_ns() - began_ns
                best_ns = self._shortest_ns.get(self.streams, taken_ns)
                self._shortest_ns[self.streams] = min(best_ns, taken_ns)
        found = self._shortest_ns
        self.streams = len(found) == 2 and found[True] < found[False]
