"""Which server holds what of the dense parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece


def place_dense(
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    num_servers: int,
    optimizer: str = "{}",
    keeps_whole: bool = False,
    is_together: bool = False,
) -> list[DenseSpec]:
    """Lay all parameters end to end and cut them into equal parts, one per server.

    With ``keeps_whole``, for optimizers that look at a parameter as a whole, cuts are moved to the
    next border between parameters. With ``is_together``, for those that look at all of them, the
    first server gets everything.
    """
    total = sum(math.prod(shape) for shape in shapes.values())
    cuts = [total * s // num_servers for s in range(num_servers + 1)]
    if is_together:
        cuts = [0] + [total] * num_servers
    elif keeps_whole:
        borders = [0]
        for shape in shapes.values():
            borders.append(borders[-1] + math.prod(shape))
        cuts = [min(borders, key=lambda b: (abs(b - cut), b)) for cut in cuts]
    specs = []
    for low, high in itertools.pairwise(cuts):
        pieces, start = [], 0
        for parameter, shape in shapes.items():
            stop = start + math.prod(shape)
            first, last = max(low, start), min(high, stop)
            if first < last:
                pieces.append(Piece(parameter, tuple(shape), first - start, last - start))
            start = stop
        specs.append(DenseSpec(name, tuple(pieces), optimizer))
    return specs
