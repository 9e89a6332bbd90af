"""1.x records unless a ``fluid.dygraph.guard`` is open; here recording begins with the first name
that only static programs use.
"""

from __future__ import annotations

import argosy.static  # noqa: F401  (installs what records)
from argosy.fluid._tracer import tracers
from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch


def begin_recording(call: str) -> None:
    """Record from now on, as ``paddle.enable_static()`` does; inside a guard ``call`` is an
    error.
    """
    if tracers.is_guarded:
        raise UsageError(f"{call}: static programs cannot be built inside of fluid.dygraph.guard()")
    switch.enable()


def records() -> bool:
    """Whether functions that make something out of nothing are recorded: always, but inside of a
    guard.
    """
    if not tracers.is_guarded:
        switch.enable()
    return switch.is_static


def is_static() -> bool:
    """Whether functions are recorded now."""
    return switch.is_static
