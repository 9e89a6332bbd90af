"""When the gradient of a matrix is better exchanged as the two factors of which it is the product:
a pure function of sizes, so that all ranks find the same, whenever they are asked.
"""

from __future__ import annotations

_LEAST_GAIN = 4  # times as many elements on the way without them
# A matrix whose factors are a gain only for fewer samples than this is hardly ever offered, and a
# bucket for each such matrix costs more than one for all: a GPT of width 256 took 2 % longer.
_LEAST_SAMPLES = 64


def most_samples(shape: tuple[int, int], num_hosts: int = 2) -> int:
    """For how many samples of a rank the factors of a matrix are a gain.

    Each host sends its factors to all others, ``num_hosts - 1`` times; of a sum it would send
    ``2 (num_hosts - 1) / num_hosts``. Inside a host what counts is what a rank writes: as between
    two.
    """
    height, width = shape
    return 2 * height * width // (_LEAST_GAIN * num_hosts * (height + width))


def is_gain(shape: tuple[int, int], num_hosts: int = 2) -> bool:
    """Whether a matrix should have a bucket that takes factors."""
    return most_samples(shape, num_hosts) >= _LEAST_SAMPLES
