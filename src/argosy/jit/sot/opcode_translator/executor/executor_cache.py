"""The converted functions."""

from __future__ import annotations

from argosy.jit.operators.call import converter

__all__ = ["OpcodeExecutorCache"]


class OpcodeExecutorCache:
    """What was converted, to be forgotten."""

    def clear(self) -> None:
        """Convert every function anew when it is recorded next."""
        converter.forget()
