"""Saving and loading what a scope holds for a program.

``save(program, prefix)`` writes ``.pdparams`` (parameters) and ``.pdopt`` (accumulators and other
persistable variables), both as Paddle does, a pickle of arrays by name, and ``.pdmodel`` (the
program, see ``programs``). ``load`` also reads the files of ``files.variables``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from argosy.foundation.errors import CheckpointError, DtypeError, UsageError, nearest
from argosy.foundation.progress import counted, progress
from argosy.framework import io, pickles, tensor_file
from argosy.static.files import programs
from argosy.static.files.inference import persistables, save_to_file
from argosy.static.files.variables import (
    ShapeMismatch,
    file_of,
    is_belong_to_optimizer,
    is_parameter,
    is_persistable,
    load_vars,
)
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.ir.variable import Parameter, Variable
from argosy.tensor.engine import wrap

_SUFFIXES = (".pdparams", ".pdopt", ".pdmodel")


def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """Write ``program`` and the values that the current scope holds for it to files that start with
    ``model_path``.
    """
    if "pickle_protocol" in configs:
        warnings.warn(
            "static.save: 'pickle_protocol' is deprecated, use 'protocol'",
            DeprecationWarning,
            stacklevel=2,
        )
        protocol = configs.pop("pickle_protocol")
    if configs:
        raise UsageError(f"static.save: unknown options {sorted(configs)}")
    if not isinstance(protocol, int) or protocol not in (2, 3, 4):
        raise UsageError(
            f"static.save: the pickle protocol must be 2, 3 or 4, but received {protocol!r}"
        )
    if not os.path.basename(model_path):
        raise UsageError(
            f"static.save: the path must be folder/prefix, but received {model_path!r}"
        )
    parameters: dict[str, np.ndarray] = {}
    others: dict[str, np.ndarray] = {}
    for variable in persistables(program):
        array = np.array(global_scope().holding(variable.name).get_tensor())
        (parameters if isinstance(variable, Parameter) else others)[variable.name] = array
    for suffix, arrays in ((".pdparams", parameters), (".pdopt", others)):
        size = sum(array.nbytes for array in arrays.values())
        with io._writing(os.path.realpath(model_path + suffix), size) as file:
            pickles.dump(
                io._slice_big(arrays, io._SLICE_BYTES) if protocol < 4 else arrays, file, protocol
            )
    save_to_file(model_path + ".pdmodel", programs.dumps(program))


def load(program: Program, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Fill the persistable variables of ``program`` in the current scope from the files of
    ``save``, or of Paddle's.

    ``model_path`` may also be a folder that ``save_vars`` wrote, or its one file of the variables
    ``var_list``.
    """
    prefix = _prefix(model_path)
    if not os.path.isfile(prefix + ".pdparams") and os.path.exists(model_path):
        _load_variables(program, model_path, executor, var_list)
        return
    state = {
        name: value
        for name, value in load_program_state(model_path).items()
        if isinstance(value, np.ndarray)
    }
    wanted = persistables(program) if var_list is None else list(var_list)
    for variable in wanted:
        if variable.name not in state:
            if not isinstance(variable, Parameter) and not os.path.exists(f"{prefix}.pdopt"):
                continue  # parameters only, as for a program that does not train
            raise CheckpointError(
                f"static.load: {model_path!r} has no value for "
                f"{variable.name!r}.{nearest(variable.name, state)}"
            )
        _fill(variable, state[variable.name], "static.load")


def _load_variables(program: Program, path: str, executor: Any, var_list: Any) -> None:
    if os.path.isdir(path):
        there = set(_files_below(path))
        chosen = [v for v in persistables(program) if v.name in there]
        if var_list is not None:
            wanted = {v.name for v in var_list}
            chosen = [v for v in chosen if v.name in wanted]
        unused = sorted(there - {v.name for v in chosen})
        if unused and var_list is None:
            warnings.warn(
                f"static.load: the program has no variables for the files {unused} of {path!r}",
                stacklevel=3,
            )
        load_vars(executor, path, program, chosen)
        return
    if var_list is None:
        raise UsageError(
            f"static.load: {path!r} holds variables without their names; name them with var_list"
        )
    folder, name = os.path.split(path)
    load_vars(executor, folder, program, var_list, filename=name)


def load_program_state(
    model_path: str, var_list: Iterable[Any] | None = None
) -> dict[str, np.ndarray]:
    """The values in the files of ``save``, or in the folder or file of ``save_vars``, by name."""
    prefix = _prefix(model_path)
    names = None if var_list is None else _names(var_list)
    if os.path.isfile(prefix + ".pdparams"):
        state = _pickled_state(prefix)
    elif os.path.isdir(model_path):
        found = names or _files_below(model_path)
        state = {
            name: _array(str(file_of(model_path, name, "static.load_program_state")))
            for name in found
        }
    elif os.path.isfile(model_path):
        if names is None:
            raise UsageError(
                f"static.load_program_state: {model_path!r} holds no names; give them with var_list"
            )
        state = _combined_state(model_path, sorted(names))
    else:
        raise CheckpointError(f"static.load: there is no file {prefix + '.pdparams'!r}")
    if names is None:
        return state
    missing = [name for name in names if name not in state]
    if missing:
        raise CheckpointError(
            f"static.load_program_state: {model_path!r} has no values for {missing}"
        )
    return {name: state[name] for name in names}


def _names(variables: Iterable[Any]) -> list[str]:
    names = []
    for variable in variables:
        if not isinstance(variable, Variable):
            raise DtypeError(
                "static.load_program_state: var_list must hold variables, but received "
                f"{type(variable).__name__}"
            )
        names.append(variable.name)
    return names


def state_dict(program: Program, mode: str = "all", scope: Scope | None = None) -> dict[str, Any]:
    """What ``scope`` (the current one by default) holds for a program, by name: for ``mode``
    "param" its parameters, for "opt" what else it keeps, for "all" both.
    """
    if scope is not None and not isinstance(scope, Scope):
        raise DtypeError(
            f"Program.state_dict: scope must be a Scope, but received {type(scope).__name__}"
        )
    if not isinstance(mode, str):
        raise DtypeError(
            f"Program.state_dict: mode must be a string, but received {type(mode).__name__}"
        )
    picks = {"param": is_parameter, "opt": is_belong_to_optimizer, "all": is_persistable}
    if mode not in picks:
        raise UsageError(
            f"Program.state_dict: mode must be 'param', 'opt' or 'all', but received {mode!r}"
        )
    held = scope or global_scope()
    return {
        v.name: held.holding(v.name).get_tensor() for v in program.list_vars() if picks[mode](v)
    }


def set_state_dict(program: Program, state_dict: Any, scope: Scope | None = None) -> None:
    """Give the variables of a program the values that ``state_dict`` has under their names; warn
    of those that do not fit.

    With the table of names of a Layer's state dict (``keep_name_table=True``), keys are the names
    of the Layer's attributes.
    """
    if not isinstance(state_dict, dict):
        raise DtypeError(
            f"Program.set_state_dict: expected a dict, but received {type(state_dict).__name__}"
        )
    names = state_dict.get(io.NAME_TABLE, {})
    given = {names.get(key, key): v for key, v in state_dict.items() if key != io.NAME_TABLE}
    variables = {v.name: v for v in program.list_vars()}
    for name, value in given.items():
        try:
            if name not in variables:
                raise UsageError("the program has no such variable")
            variables[name].set_value(value, scope)
        except (TypeError, ValueError) as error:
            warnings.warn(f"Program.set_state_dict: {name!r} is not set: {error}", stacklevel=2)


def set_program_state(program: Program, state_dict: dict[str, np.ndarray]) -> None:
    """Fill the persistable variables of ``program`` that ``state_dict`` names in the current scope;
    warn of other names.
    """
    unused = set(state_dict)
    for variable in persistables(program):
        if variable.name in state_dict:
            _fill(variable, np.asarray(state_dict[variable.name]), "static.set_program_state")
            unused.discard(variable.name)
    if unused:
        warnings.warn(
            f"static.set_program_state: the program has no variables for {sorted(unused)}, which "
            "are not set",
            stacklevel=2,
        )


def _pickled_state(prefix: str) -> dict[str, np.ndarray]:
    state = _pickled_arrays(prefix + ".pdparams")
    if os.path.isfile(prefix + ".pdopt"):
        state.update(_pickled_arrays(prefix + ".pdopt"))
    return state


def _pickled_arrays(path: str) -> dict[str, np.ndarray]:
    """The arrays by name in one file of ``save``, or of Paddle's."""
    state = io.load(path, return_numpy=True)
    if not isinstance(state, dict):
        raise CheckpointError(
            f"static.load: {path!r} holds a {type(state).__name__}, not values by name"
        )
    strange = [
        name for name, value in state.items() if not isinstance(name, str) or not _is_value(value)
    ]
    if strange:
        raise CheckpointError(
            f"static.load: {path!r} holds no array of numbers for {strange[0]!r:.80}"
        )
    return state


def _is_value(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    )


def _array(path: str) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            return wrap(tensor_file.read(file, repr(path))).numpy()
    except FileNotFoundError:
        raise CheckpointError(f"static.load_program_state: there is no file {path!r}") from None


def _combined_state(path: str, names: list[str]) -> dict[str, np.ndarray]:
    state = {}
    with open(path, "rb") as file, progress(f"loading {path}", os.path.getsize(path)) as told:
        for name in names:
            state[name] = wrap(tensor_file.read(counted(file, told), repr(path))).numpy()
        if file.read(1):
            raise ShapeMismatch(
                f"static.load_program_state: {path!r} holds more than the {len(names)} variables "
                "asked for"
            )
    return state


def _files_below(folder: str) -> list[str]:
    """Paths of files, relative to ``folder``: names of variables may contain a slash."""
    found = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in found)


def _prefix(path: str) -> str:
    for suffix in _SUFFIXES:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path


def _fill(variable: Variable, array: np.ndarray, call: str) -> None:
    if list(array.shape) != list(variable.shape) and not (
        array.size == 1 and variable.shape in ([], [1])
    ):
        raise CheckpointError(
            f"{call}: {variable.name!r} has shape {list(array.shape)} in the file, "
            f"{list(variable.shape)} in the program"
        )
    global_scope().var(variable.name).get_tensor().set(array.reshape(variable.shape))
