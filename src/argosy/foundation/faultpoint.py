"""Places where a test can make a process die, so that recovery is proved at the worst instants.

``ARGOSY_FAULT=name:3`` kills the process, as SIGKILL does, when it comes to ``reach(name)`` for the
third time. Without the variable a call costs two comparisons. ``argosy prove`` listens to what is
reached.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from argosy.foundation import env
from argosy.foundation.process_state import register


class _Plan:
    """What the environment asks for; read once."""

    def __init__(self) -> None:
        name, _, count = (env.get("ARGOSY_FAULT") or "").partition(":")
        self.name = name
        self.left = int(count or 1)
        self.listener: Callable[[str], None] | None = None


_plan = register("fault plan", _Plan())


def reach(name: str) -> None:
    """Die here if the plan says so."""
    if _plan.listener is not None:
        _plan.listener(name)
    if name == _plan.name:
        _plan.left -= 1
        if _plan.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def listen(listener: Callable[[str], None] | None) -> None:
    """Have ``listener`` called with the name of each place that this process reaches."""
    _plan.listener = listener
