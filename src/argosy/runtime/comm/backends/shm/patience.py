"""How long an asynchronous sum waits for the other ranks before it goes to another thread. Pure
arithmetic.

Where ranks compute on every core, the thread of a queue takes its time from the backward pass, and
ranks whose threads wait for each other's turn on a core lose more: a training step of DDP between
two ranks on two cores took 3 ms longer, which is what its sums take. Ranks that reach a sum at
about the same time do it at once instead.
"""

from __future__ import annotations

_BYTES_PER_S = 7e9  # that two ranks sum
_MOST_S = 0.05  # then somebody should look whether the others live
_LEAST_BYTES = 1 << 20  # below it a moment is too short to be met


def patience_s(num_bytes: int, world_size: int, num_threads: int, num_cores: int) -> float:
    """Seconds that a rank waits for others in the thread that asks for a sum of ``num_bytes``; 0
    where another thread should do it.

    ``num_threads`` is with how many each of the ``world_size`` ranks of this host computes. Who
    waits as long as the sum takes loses no more than it may gain.
    """
    if world_size * num_threads < num_cores or num_bytes < _LEAST_BYTES:
        return 0.0
    return min(num_bytes / _BYTES_PER_S, _MOST_S)
