"""The memory passes of 1.x."""

from __future__ import annotations

from typing import Any

from argosy.static import Program

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(
    input_program: Program,
    skip_opt_set: Any = None,
    print_log: bool = False,
    level: int = 0,
    skip_grads: bool = True,
) -> None:
    """Nothing: a run frees every value after its last use anyway."""


def release_memory(input_program: Program, skip_opt_set: Any = None) -> None:
    """Nothing: a run frees every value after its last use anyway."""
