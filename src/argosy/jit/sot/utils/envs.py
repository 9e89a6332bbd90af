"""Choices for functions that may fall back to eager execution."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from argosy.jit.state import state

__all__ = ["min_graph_size_guard"]


@contextlib.contextmanager
def min_graph_size_guard(value: int) -> Iterator[None]:
    """Run functions eagerly inside whose programs have fewer operators than ``value``, if they may
    fall back.
    """
    before, state.min_graph_size = state.min_graph_size, int(value)
    try:
        yield
    finally:
        state.min_graph_size = before
