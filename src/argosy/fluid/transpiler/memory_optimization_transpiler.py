"""The memory passes of 1.x."""

from __future__ import annotations

import logging
from typing import Any

from argosy.static import Program

__all__ = ["memory_optimize", "release_memory"]

_SAID = "fluid.%s is deprecated and does nothing: a run frees every value after its last use anyway"


def memory_optimize(
    input_program: Program,
    skip_opt_set: Any = None,
    print_log: bool = False,
    level: int = 0,
    skip_grads: bool = True,
) -> None:
    """Nothing but a warning, as in 1.8: a run frees every value after its last use anyway."""
    logging.getLogger(__name__).warning(_SAID, "memory_optimize")


def release_memory(input_program: Program, skip_opt_set: Any = None) -> None:
    """Nothing but a warning, as in 1.8: a run frees every value after its last use anyway."""
    logging.getLogger(__name__).warning(_SAID, "release_memory")
