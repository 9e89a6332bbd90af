"""Files that ``fleet`` writes of static programs, in the folder form of Paddle 1: a file per variable, the program in ``__model__``.

A folder is replaced as a whole, see ``_checkpoint_files.folder_replaced``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.distributed._group import Group
from argosy.distributed.fleet._checkpoint_files import folder_replaced
from argosy.distributed.fleet._checkpoint_ranks import Ranks
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.static import Variable, default_main_program, save_vars
from argosy.static._inference import write_model
from argosy.static._vars_io import is_persistable, valid_program

__all__ = ["by_first_worker", "save_inference_model", "save_persistables", "variables"]


def by_first_worker(group: Group | None, write: Callable[..., None], *args: Any) -> None:
    """Have worker 0 write while the others wait; if it fails, it raises its error and the others CheckpointError."""
    ranks = Ranks(group)
    problem = None
    try:
        if ranks.rank == 0:
            write(*args)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise
    finally:
        told = ranks.from_first(problem)
    if told is not None:
        raise CheckpointError(f"worker 0 could not write: {told}")


def save_persistables(executor: Any, dirname: str, main_program: Any) -> None:
    """Write every persistable variable of the program to a file of its name in ``dirname``."""
    program = valid_program("fleet.save_persistables", main_program)
    with folder_replaced(dirname) as folder:
        save_vars(executor, folder, program, predicate=is_persistable)


def save_inference_model(
    executor: Any, dirname: str, feed_names: Sequence[str], targets: Sequence[Any], main_program: Any
) -> None:
    """Write the program that computes ``targets`` to ``dirname/__model__`` and each of its variables to a file."""
    program = valid_program("fleet.save_inference_model", main_program)
    if isinstance(feed_names, str) or not all(isinstance(name, str) for name in feed_names):
        raise UsageError(f"fleet.save_inference_model: feeded_var_names must be a list of names, but is {feed_names!r}")
    block = program.global_block()
    feeds = [block.var(name) for name in feed_names]
    with folder_replaced(dirname) as folder:
        write_model(folder, "__model__", None, feeds, list(targets), executor, program)


def variables(items: Sequence[Any]) -> list[Variable]:
    """Variables of the default program from variables or their names."""
    block = default_main_program().global_block()
    return [block.var(item) if isinstance(item, str) else item for item in items]
