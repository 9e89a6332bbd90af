"""``base.dygraph``: guards of Paddle 2.5 and later, in which tensors are those of today.

All else is that of ``fluid.dygraph``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy.fluid.dygraph.base import open_for_good, open_guard
from argosy.fluid.dygraph.tracer import Tracer


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Run ops at once inside the block, on ``place``, with names counted from zero."""
    with open_guard(Tracer(), place):
        yield


def enable_dygraph(place: Any = None) -> None:
    """Open a guard that lasts until ``disable_dygraph``; an open one stays."""
    open_for_good(guard, place)
