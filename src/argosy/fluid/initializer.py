"""``fluid.initializer``: the initialisers of 1.x, under their long and short names."""

from __future__ import annotations

from argosy.nn.initializer import TruncatedNormalInitializer as _Current


class TruncatedNormalInitializer(_Current):
    """Draw from a normal distribution cut off at two standard deviations, where later versions cut
    at -2 and 2.
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(loc, scale, seed, loc - 2.0 * scale, loc + 2.0 * scale)
