"""Whether converted functions run as programs: ``enable_to_static`` says so for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from argosy.foundation.process_state import register


@dataclass
class State:
    """What is in force.

    ``falls_back`` is what ``to_static`` takes for ``full_graph`` where nothing is said: True runs
    eagerly what cannot be recorded.
    """

    is_enabled: bool = True
    is_whole: bool = True  # whether what is recorded now may not fall back
    falls_back: bool = True
    verbosity: int = 0
    code_level: int = -1
    logs_to_stdout: bool = False
    # fewer operators than this are not worth a program where falling back is allowed
    min_graph_size: int = 0


state = State()
register(
    "conversion to programs",
    state,
    attributes=(
        "is_enabled",
        "is_whole",
        "falls_back",
        "verbosity",
        "code_level",
        "logs_to_stdout",
        "min_graph_size",
    ),
)
