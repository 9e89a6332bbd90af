"""Files of variables: one per variable, or one for all of them, each tensor in Paddle's binary
format.

A file of several variables has no names in it: they stand in the order of their names. Paddle 1.x
has no tensors without dimensions, so a scalar is written as one of shape [1]; reading takes either.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, DtypeError, UsageError
from argosy.foundation.files import inside, replacing
from argosy.foundation.progress import counted, progress
from argosy.framework import tensor_file
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.recorder import default_main_program

Predicate = Callable[[Variable], Any]
Values = list[tuple[Variable, torch.Tensor]]

_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)


class ShapeMismatch(CheckpointError, RuntimeError):
    """The file holds other tensors than the program declares."""


def is_parameter(var: Variable) -> bool:
    """Whether ``var`` is a parameter."""
    return isinstance(var, Parameter)


def is_persistable(var: Variable) -> bool:
    """Whether ``var`` keeps its value from run to run."""
    return bool(var.persistable)


def is_belong_to_optimizer(var: Variable) -> bool:
    """Whether ``var`` is kept from run to run and is no parameter."""
    return is_persistable(var) and not is_parameter(var)


def valid_program(call: str, program: Any) -> Program:
    """``program``, the one that a compiled program stands for, or the default one."""
    program = default_main_program() if program is None else getattr(program, "_program", program)
    if not isinstance(program, Program):
        raise DtypeError(
            f"{call}: main_program must be a Program, but received {type(program).__name__}"
        )
    return program


def get_valid_program(program: Any = None) -> Program:
    """``program``, the one that a compiled program stands for, or the default one."""
    return valid_program("static.io", program)


def save_vars(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    vars: Iterable[Variable | str] | None = None,
    predicate: Predicate | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Write what the current scope holds for ``vars``, or for the variables of the program that
    ``predicate`` picks.

    Every variable becomes a file of its name in ``dirname``; with ``filename`` all are in that one.
    Without either the bytes of such a file are returned.
    """
    chosen = _chosen("save_vars", main_program, vars, predicate)
    if not chosen:
        warnings.warn("save_vars: no variable in your model is to be saved", stacklevel=2)
        return None
    contents = {v.name: _held(v) for v in chosen}
    if filename is None and dirname is not None:
        # all before the first
        files = [(file_of(dirname, name, "save_vars"), raw) for name, raw in contents.items()]
        with progress(f"saving variables to {dirname}", _size(contents.values())) as told:
            for path, raw in files:
                with replacing(path) as file:
                    tensor_file.write(raw, counted(file, told))
        return None
    buffer = io.BytesIO()
    with (
        (
            contextlib.nullcontext(buffer)
            if filename is None
            else replacing(_path(dirname, filename))
        ) as file,
        progress(f"saving variables to {filename}", _size(contents.values())) as told,
    ):
        for _, raw in sorted(contents.items()):
            tensor_file.write(raw, counted(file, told))
    return buffer.getvalue() if filename is None else None


def load_vars(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    vars: Iterable[Variable | str] | None = None,
    predicate: Predicate | None = None,
    filename: str | bytes | None = None,
) -> None:
    """Fill variables in the current scope from files of ``save_vars`` or of Paddle's.

    The arguments are those of ``save_vars``; with ``dirname=None``, ``filename`` is the bytes of a
    file of several variables.
    """
    values = read_vars(dirname, main_program, vars, predicate, filename)
    # Only now: a wrong file must not leave half of the variables behind.
    store_vars(values, global_scope(), getattr(executor, "_device", None))


def read_vars(
    dirname: str | None,
    main_program: Program | None = None,
    vars: Iterable[Variable | str] | None = None,
    predicate: Predicate | None = None,
    filename: str | bytes | None = None,
) -> Values:
    """What ``load_vars`` would fill variables with."""
    chosen = _chosen("load_vars", main_program, vars, predicate)
    if filename is None:
        if dirname is None:
            raise UsageError("load_vars: dirname and filename cannot both be None")
        return _read_folder(chosen, dirname)
    if dirname is not None:
        path = os.path.join(dirname, str(filename))
        with _opened(path) as file:
            return _read_combined(chosen, file, path)
    if isinstance(filename, bytes):
        return _read_combined(chosen, io.BytesIO(filename), "the bytes")
    raise UsageError("load_vars: with dirname=None, filename must be the bytes of the variables")


def store_vars(values: Values, scope: Scope, device: torch.device | None) -> None:
    """Let ``scope`` hold what was read."""
    for variable, raw in values:
        slot = scope.var(variable.name)
        target = device or (raw.device if slot.tensor is None else slot.tensor.device)
        slot.store(raw.to(target), copies=False)


def _size(tensors: Iterable[torch.Tensor]) -> int:
    return sum(raw.nbytes for raw in tensors)


def _chosen(
    call: str, program: Any, given: Iterable[Variable | str] | None, predicate: Predicate | None
) -> list[Variable]:
    if given is None:
        program = valid_program(call, program)
        return [v for v in program.list_vars() if predicate is None or predicate(v)]
    block = None
    chosen: list[Variable] = []
    for item in given:
        if isinstance(item, str):
            block = block or valid_program(call, program).global_block()
            item = block.var(item)
        if not isinstance(item, Variable):
            raise DtypeError(
                f"{call}: vars must hold variables, but received {type(item).__name__}"
            )
        chosen.append(item)
    return chosen


def file_of(dirname: str | os.PathLike[str], name: str, call: str) -> Path:
    """The file of the variable ``name``, which a file may have told: one that leads out of
    ``dirname`` is refused.
    """
    return inside(dirname, name, f"{call}: a variable")


def _path(dirname: str | None, filename: str) -> str:
    return os.path.realpath(os.path.join(dirname or "", filename))


def _held(variable: Variable) -> torch.Tensor:
    raw = global_scope().holding(variable.name).get_tensor().raw_tensor()
    return raw.reshape(1) if raw.dim() == 0 else raw


def _read_folder(variables: Sequence[Variable], dirname: str) -> Values:
    found: Values = []
    with progress(f"loading variables from {dirname}", len(variables), "variables") as told:
        for variable in variables:
            raw = _read_file(dirname, variable.name)
            found.append((variable, _fitting(variable, raw, dirname)))
            told(1)
    return found


def _read_file(dirname: str, name: str) -> torch.Tensor:
    path = str(file_of(dirname, name, "load_vars"))
    with _opened(path, name) as file:
        raw = tensor_file.read(file, repr(path))
        _check_end(file, path, [name])
    return raw


def _read_combined(variables: Sequence[Variable], file: IO[bytes], source: str) -> Values:
    names = sorted({v.name for v in variables})
    contents = {}
    with progress(f"loading variables from {source}", len(names), "variables") as told:
        for name in names:
            contents[name] = tensor_file.read(file, repr(source))
            told(1)
    _check_end(file, source, names)
    return [(v, _fitting(v, contents[v.name], source)) for v in variables]


def _check_end(file: IO[bytes], source: str, names: list[str]) -> None:
    if file.read(1):
        raise ShapeMismatch(
            f"load_vars: {source!r} holds more than the {len(names)} variables asked for, "
            f"{names[:4]}{'...' if len(names) > 4 else ''}"
        )


def _fitting(variable: Variable, raw: torch.Tensor, source: str) -> torch.Tensor:
    """``raw`` in the declared shape; only a scalar may have another one."""
    shape = list(variable.shape)
    if list(raw.shape) != shape and raw.numel() == 1 and shape in ([], [1]):
        raw = raw.reshape(shape)
    is_shape = len(shape) == raw.dim() and all(
        n in (-1, m) for n, m in zip(shape, raw.shape, strict=True)
    )
    if not is_shape or raw.dtype is not variable.raw.dtype:
        raise ShapeMismatch(
            f"load_vars: {variable.name!r} has shape {list(raw.shape)} and dtype "
            f"{dtypes.name_of(raw.dtype)} in {source!r}, "
            f"but {shape} and {dtypes.name_of(variable.raw.dtype)} in the program"
        )
    return raw


def _opened(path: str, name: str = "") -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        what = f" for the variable {name!r}" if name else ""
        raise CheckpointError(f"load_vars: there is no file {path!r}{what}") from None
