"""``base.dygraph``: guards of Paddle 2.5 and later, in which tensors are those of today.

All else is that of ``fluid.dygraph``.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from argosy.fluid.dygraph.base import open_for_good, open_guard
from argosy.fluid.dygraph.base import to_variable as _to_variable
from argosy.fluid.dygraph.tracer import Tracer
from argosy.tensor.engine import Tensor


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Run ops at once inside the block, on ``place``, with names counted from zero."""
    with open_guard(Tracer(), place):
        yield


def enable_dygraph(place: Any = None) -> None:
    """Open a guard that lasts until ``disable_dygraph``; an open one stays."""
    open_for_good(guard, place)


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None
) -> Tensor:
    """Turn an array, list or number into a Tensor, which never shares its memory: ``zero_copy`` is
    of 1.x and gets a warning.
    """
    if zero_copy:
        warnings.warn(
            "Currently, zero_copy is not supported, and it will be discarded.", stacklevel=2
        )
    return _to_variable(value, name, False, dtype)
