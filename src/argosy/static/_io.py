"""Saving and loading programs and what a scope holds for them.

``save(program, prefix)`` writes ``.pdparams`` (parameters) and ``.pdopt`` (accumulators and other persistable variables), both as Paddle
does, a pickle of arrays by name, and ``.pdmodel`` (the program, see ``_serialize``). An inference model is a pruned ``.pdmodel`` and
``.pdiparams``: its variables in the order of their names, each as a tensor in Paddle's binary format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import CheckpointError, NotSupported, ProgramError, UsageError, nearest
from argosy.framework import _io, _pickle, _tensor_file
from argosy.static import _serialize
from argosy.static._lower import pruned
from argosy.static._program import Program
from argosy.static._recorder import default_main_program
from argosy.static._scope import global_scope
from argosy.static._variable import Parameter, Variable


def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """Write ``program`` and the values that the current scope holds for it to files that start with ``model_path``."""
    if configs:
        raise UsageError(f"static.save: unknown options {sorted(configs)}")
    if protocol not in (2, 3, 4):
        raise UsageError(f"static.save: the pickle protocol must be 2, 3 or 4, but received {protocol!r}")
    prefix = _prefix("save", model_path)
    parameters: dict[str, np.ndarray] = {}
    others: dict[str, np.ndarray] = {}
    for variable in _persistables(program):
        array = np.array(global_scope()._holding(variable.name).get_tensor())
        (parameters if isinstance(variable, Parameter) else others)[variable.name] = array
    for suffix, arrays in ((".pdparams", parameters), (".pdopt", others)):
        with _io._writing(os.path.realpath(prefix + suffix)) as file:
            _pickle.dump(_io._slice_big(arrays, _io._SLICE_BYTES) if protocol < 4 else arrays, file, protocol)
    _write(prefix + ".pdmodel", _serialize.dumps(program))


def load(program: Program, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Fill the persistable variables of ``program`` in the current scope from the files of ``save``, or of Paddle's."""
    state = load_program_state(model_path)
    wanted = _persistables(program) if var_list is None else list(var_list)
    for variable in wanted:
        is_parameter = isinstance(variable, Parameter)
        if variable.name not in state:
            if not is_parameter and not os.path.exists(f"{model_path}.pdopt"):
                continue  # parameters only, as for a program that does not train
            raise CheckpointError(
                f"static.load: {model_path!r} has no value for {variable.name!r}.{nearest(variable.name, state)}"
            )
        _fill(variable, state[variable.name], "static.load")


def load_program_state(model_path: str, var_list: Iterable[Any] | None = None) -> dict[str, np.ndarray]:
    """The values in the files of ``save``, by name."""
    prefix = model_path.removesuffix(".pdparams")
    if not os.path.isfile(prefix + ".pdparams"):
        raise CheckpointError(f"static.load: there is no file {prefix + '.pdparams'!r}")
    state: dict[str, np.ndarray] = dict(_io.load(prefix + ".pdparams", return_numpy=True))
    if os.path.isfile(prefix + ".pdopt"):
        state.update(_io.load(prefix + ".pdopt", return_numpy=True))
    state.pop(_io.NAME_TABLE, None)
    if var_list is None:
        return state
    names = [getattr(v, "name", v) for v in var_list]
    missing = [name for name in names if name not in state]
    if missing:
        raise CheckpointError(f"static.load_program_state: {model_path!r} has no values for {missing}")
    return {name: state[name] for name in names}


def set_program_state(program: Program, state_dict: dict[str, np.ndarray]) -> None:
    """Fill the persistable variables of ``program`` that ``state_dict`` names in the current scope."""
    for variable in _persistables(program):
        if variable.name in state_dict:
            _fill(variable, np.asarray(state_dict[variable.name]), "static.set_program_state")


def normalize_program(program: Program, feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> Program:
    """A copy for inference: test mode, and only what ``fetch_vars`` depend on."""
    feeds, fetches = _variables("feed_vars", feed_vars), _variables("fetch_vars", fetch_vars)
    out = program.clone(for_test=True)
    block = out.global_block()
    targets = [v.name for v in fetches]
    block.ops = pruned(block.ops, targets)
    used = {n for o in block.ops for n in (*o.input_arg_names, *o.output_arg_names)} | set(targets)
    used |= {v.name for v in feeds}
    block.vars = {name: v for name, v in block.vars.items() if name in used}
    unfed = [v.name for v in block.vars.values() if v.is_data and v.name not in {f.name for f in feeds}]
    if unfed:
        raise ProgramError(f"normalize_program: {targets} depend on {unfed}, which are not among feed_vars")
    out._changed()
    return out


def save_inference_model(path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Any, **kwargs: Any) -> None:
    """Write what ``fetch_vars`` need, with the values of the current scope, to ``path_prefix`` .pdmodel and .pdiparams."""
    program = kwargs.pop("program", None) or default_main_program()
    if set(kwargs) - {"clip_extra", "legacy_format"}:
        raise NotSupported(f"static.save_inference_model: options {sorted(kwargs)} are not supported")
    prefix = _prefix("save_inference_model", path_prefix)
    pruned_program = normalize_program(program, feed_vars, fetch_vars)
    names = sorted(v.name for v in _persistables(pruned_program))
    extra = {
        "feeds": [v.name for v in _variables("feed_vars", feed_vars)],
        "fetches": [v.name for v in _variables("fetch_vars", fetch_vars)],
        "variables": names,
    }
    with _io._writing(os.path.realpath(prefix + ".pdiparams")) as file:
        for name in names:
            _tensor_file.write(global_scope()._holding(name).get_tensor()._raw(), file)
    _write(prefix + ".pdmodel", _serialize.dumps(pruned_program, extra))


def load_inference_model(path_prefix: str, executor: Any, **kwargs: Any) -> list[Any]:
    """Read an inference model into the current scope; returns the program, the names to feed and the variables to fetch."""
    if kwargs:
        raise NotSupported(f"static.load_inference_model: options {sorted(kwargs)} are not supported")
    path = f"{path_prefix}.pdmodel"
    if not os.path.isfile(path):
        raise CheckpointError(f"static.load_inference_model: there is no file {path!r}")
    with open(path, "rb") as file:
        program, extra = _serialize.loads(file.read(), repr(path))
    if "fetches" not in extra:
        raise CheckpointError(
            f"static.load_inference_model: {path!r} was written by static.save; read it with static.load"
        )
    source = f"{path_prefix}.pdiparams"
    with open(source, "rb") as values:
        for name in extra["variables"]:
            global_scope().var(name).store(_tensor_file.read(values, repr(source)), copies=False)
    block = program.global_block()
    return [program, extra["feeds"], [block.var(name) for name in extra["fetches"]]]


def _persistables(program: Program) -> list[Variable]:
    return [v for v in program.list_vars() if v.persistable]


def _fill(variable: Variable, array: np.ndarray, call: str) -> None:
    if list(array.shape) != list(variable.shape):
        raise CheckpointError(
            f"{call}: {variable.name!r} has shape {list(array.shape)} in the file, {list(variable.shape)} in the program"
        )
    global_scope().var(variable.name).get_tensor().set(array)


def _variables(argument: str, value: Any) -> Sequence[Variable]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Variable):
            raise UsageError(f"{argument} must be a Variable or a list of them, but received {type(item).__name__}")
    return items


def _prefix(call: str, path: str) -> str:
    if not os.path.basename(path):
        raise UsageError(f"static.{call}: the path must be folder/prefix, but received {path!r}")
    return path


def _write(path: str, data: bytes) -> None:
    with _io._writing(os.path.realpath(path)) as file:
        file.write(data)
