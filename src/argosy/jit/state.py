"""Whether converted functions run as programs: ``enable_to_static`` says so for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import DtypeError
from argosy.foundation.process_state import register
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import recorder


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


def in_to_static_mode() -> bool:
    """Whether a function is being recorded as a program."""
    return recorder.capture is not None


def set_dynamic_shape(variable: Any, shape_list: Sequence[int]) -> None:
    """Declare the shape of a variable while a function is recorded, -1 for what may vary; nothing
    where functions run at once.
    """
    if not in_to_static_mode():
        return
    if not isinstance(variable, Variable):
        raise DtypeError(
            "set_dynamic_shape: In to_static mode, variable must be a Variable, but is "
            f"{type(variable).__name__}"
        )
    variable.desc.set_shape(shape_list)


@contextlib.contextmanager
def _no_check_dy2st_diff() -> Iterator[None]:
    """A block in which in-place changes of views are recorded; Paddle's name. They are recorded
    everywhere here.
    """
    yield
