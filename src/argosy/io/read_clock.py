"""Who is told how long each batch of a DataLoader was waited for."""

from __future__ import annotations

from collections.abc import Callable

from argosy.foundation.process_state import register

__all__ = ["ReadClock", "clock"]


class ReadClock:
    """Holds the listener: the timer of a profiler while one runs, else None."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Callable[[object, float], None] | None = None  # dataset, seconds


clock = register("listener to DataLoader", ReadClock())
