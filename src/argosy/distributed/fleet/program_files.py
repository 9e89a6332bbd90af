"""Files that ``fleet`` writes of static programs, in the folder form of Paddle 1: a file per
variable, the program in ``__model__``.

Worker 0 writes and nobody waits, so that scripts may call these on every worker or on the first
only. State that sharding has split is the exception: all workers bring their part. A folder is
replaced as a whole, see ``checkpoints.folders.folder_replaced``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.fleet.checkpoints.folders import folder_replaced
from argosy.distributed.fleet.stages.programs.sharding import full_state
from argosy.foundation.errors import DtypeError, ProgramError, nearest
from argosy.foundation.files import replacing
from argosy.framework import tensor_file
from argosy.static import (
    Executor,
    Program,
    Variable,
    default_main_program,
    global_scope,
    load_vars,
    save_vars,
)
from argosy.static.files.inference import write_model
from argosy.static.files.variables import file_of, is_persistable, valid_program

__all__ = ["load_persistables", "save_inference_model", "save_persistables", "variables"]


def save_persistables(is_writer: bool, executor: Any, dirname: Any, main_program: Any) -> None:
    """Write every persistable variable of the program to a file of its name in ``dirname``."""
    call = "fleet.save_persistables"
    program = _checked(call, executor, dirname, main_program)
    split = full_state(program, global_scope(), dst=0)
    if not is_writer:
        return
    with folder_replaced(dirname) as folder:
        save_vars(executor, folder, program, predicate=is_persistable)
        _write_rest(folder, split)


def load_persistables(dirname: str) -> None:
    """Give the persistable variables of the default program the values of their files in
    ``dirname``.
    """
    load_vars(Executor(), dirname, default_main_program(), predicate=is_persistable)


def _write_rest(folder: str, values: dict[str, torch.Tensor]) -> None:
    """Write the state that only other workers' programs have."""
    for name, raw in values.items():
        path = file_of(folder, name, "fleet.save_persistables")
        if not path.exists():
            with replacing(path) as file:
                tensor_file.write(raw, file)


def save_inference_model(
    is_writer: bool, executor: Any, dirname: Any, feed_names: Any, targets: Any, main_program: Any
) -> None:
    """Write the program that computes ``targets`` to ``dirname/__model__`` and each of its
    variables to a file.
    """
    call = "fleet.save_inference_model"
    program = _checked(call, executor, dirname, main_program)
    if isinstance(feed_names, str) or not all(isinstance(name, str) for name in feed_names):
        raise DtypeError(f"{call}: feeded_var_names must be a list of names, but is {feed_names!r}")
    if isinstance(targets, str) or not (isinstance(targets, Variable) or targets):
        raise DtypeError(f"{call}: target_vars must be a list of Variables, but is {targets!r}")
    feeds, fetches = variables(call, program, feed_names), variables(call, program, targets)
    if is_writer:
        with folder_replaced(dirname) as folder:
            write_model(folder, "__model__", None, feeds, fetches, executor, program)


def variables(call: str, program: Program, items: Sequence[Any] | Variable) -> list[Variable]:
    """Variables of ``program`` from variables or their names, or from one variable."""
    block = program.global_block()
    if isinstance(items, Variable):
        items = [items]
    for name in items:
        if isinstance(name, str) and not block.has_var(name):
            raise ProgramError(
                f"{call}: the program has no variable {name!r}.{nearest(name, block.vars)}"
            )
    return [block.var(item) if isinstance(item, str) else item for item in items]


def _checked(call: str, executor: Any, dirname: Any, program: Any) -> Program:
    if executor is not None and not isinstance(executor, Executor):
        raise DtypeError(
            f"{call}: executor must be an Executor, but is a {type(executor).__name__}"
        )
    if not isinstance(dirname, (str, os.PathLike)):
        raise DtypeError(f"{call}: dirname must be the name of a folder, but is {dirname!r}")
    return valid_program(call, program) if program is not None else default_main_program()
