"""Which kind of servers this build has."""

from __future__ import annotations

__all__ = ["is_transpiler"]


def is_transpiler() -> bool:
    """Whether programs are rewritten for the servers of this build, and not for pslib's."""
    return True
