"""The files of a model: ``prefix.pdmodel`` and ``prefix.pdiparams``, those of a method
``prefix.method.pdmodel`` ..., and ``prefix.pdiparams.info`` with what these cannot hold.

Programs are those of ``static.save_inference_model`` and are read by the same checks: nothing in a
file runs.
"""

from __future__ import annotations

import glob
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation.errors import CheckpointError, UsageError
from argosy.framework import io
from argosy.static.files import programs
from argosy.static.files.inference import (
    load_from_file,
    normalize_program,
    packed,
    persistables,
    save_to_file,
)
from argosy.static.files.variables import load_vars, save_vars
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, scope_guard
from argosy.static.ir.variable import Parameter, Variable

INFER_MODEL_SUFFIX = ".pdmodel"
INFER_PARAMS_SUFFIX = ".pdiparams"
INFER_PARAMS_INFO_SUFFIX = ".pdiparams.info"
INFER_PROPERTY_SUFFIX = ".meta"
FORWARD = "forward"


class NoModel(CheckpointError, UsageError):
    """There is no model at a path."""


@dataclass(frozen=True)
class SavedMethod:
    """A method of a model in a file: its program, and the variables to feed and to fetch."""

    program: Program
    feeds: list[Variable]
    fetches: list[Variable]


def split_prefix(path: str) -> tuple[str, str]:
    """Folder and name of a model; both must be there."""
    folder, name = os.path.split(path)
    if not name:
        raise UsageError(
            "The input path MUST be format of dirname/file_prefix [dirname\\file_prefix in Windows "
            "system], but received file_prefix is empty string."
        )
    return folder, name


def write_method(
    prefix: str,
    method: SavedMethod,
    values: dict[str, torch.Tensor],
    with_variables: bool = True,
    skips_pruning: bool = False,
) -> list[Variable]:
    """Write one method; returns the variables that it keeps."""
    normal = normalize_program(
        method.program, method.feeds, method.fetches, skip_prune_program=skips_pruning
    )
    kept = persistables(normal)
    if with_variables:
        write_variables(prefix, kept, values)
    # Last: a reader that finds the program finds its variables.
    save_to_file(prefix + INFER_MODEL_SUFFIX, packed(normal, method.feeds, method.fetches))
    return kept


def write_variables(
    prefix: str, variables: Sequence[Variable], values: dict[str, torch.Tensor]
) -> None:
    """Write the values of variables to one file, in the order of their names."""
    path = prefix + INFER_PARAMS_SUFFIX
    unique = {v.name: v for v in variables}
    if not unique:  # Paddle reads a file without variables as a damaged one
        return
    scope = Scope()
    for name in unique:
        scope.var(name).store(values[name].detach().cpu(), copies=False)
    folder, name = os.path.split(path)
    with scope_guard(scope):
        save_vars(None, folder, None, list(unique.values()), filename=name)


def write_info(prefix: str, info: dict[str, dict[str, Any]]) -> None:
    """Write what is known of variables beyond their values."""
    save_to_file(prefix + INFER_PARAMS_INFO_SUFFIX, pickle.dumps(info, protocol=2))


def read_info(prefix: str) -> dict[str, dict[str, Any]]:
    """What ``write_info`` wrote, or nothing."""
    path = prefix + INFER_PARAMS_INFO_SUFFIX
    if not os.path.isfile(path):
        return {}
    found = io.load(path)
    if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
        raise CheckpointError(f"jit.load: {path!r} holds no information on variables")
    return found


def read_methods(folder: str, name: str) -> dict[str, SavedMethod]:
    """The methods of the model ``name``, by their names."""
    prefix = os.path.join(folder, name)
    found: dict[str, SavedMethod] = {}
    if os.path.isfile(prefix + INFER_MODEL_SUFFIX):
        found[FORWARD] = read_method(prefix + INFER_MODEL_SUFFIX)
    for path in sorted(glob.glob(f"{glob.escape(prefix)}.*{INFER_MODEL_SUFFIX}")):
        method = os.path.basename(path)[len(name) + 1 : -len(INFER_MODEL_SUFFIX)]
        if method.isidentifier():
            found[method] = read_method(path)
    if not found:
        programs.refuse_json(prefix + INFER_MODEL_SUFFIX)
        raise NoModel(f"jit.load: there is no file {prefix + INFER_MODEL_SUFFIX!r}")
    return found


def read_method(path: str) -> SavedMethod:
    """A program for inference."""
    program, extra = programs.loads(load_from_file(path), repr(path))
    if "fetches" not in extra:
        raise NoModel(f"jit.load: {path!r} was written by static.save; read it with static.load")
    block = program.global_block()
    feeds, fetches = (
        [block.var(n) for n in programs.extra_names(program, extra, key, repr(path))]
        for key in ("feeds", "fetches")
    )
    return SavedMethod(program, feeds, fetches)


def read_variables(
    variables: Sequence[Variable], folder: str, filename: str | None
) -> dict[str, torch.Tensor]:
    """The values of variables: from one file, or from one each."""
    unique = {v.name: v for v in variables}
    if not unique:
        return {}
    scope = Scope()
    with scope_guard(scope):
        load_vars(None, folder, None, list(unique.values()), filename=filename)
    return {name: scope.holding(name).get_tensor().raw_tensor() for name in unique}


def kept_by(method: SavedMethod) -> list[Variable]:
    return persistables(method.program)


def is_parameter(variable: Variable) -> bool:
    return isinstance(variable, Parameter)
