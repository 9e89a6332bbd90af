"""Programs for inference: pruned to what is fetched, as bytes and as files.

The prefix form of Paddle 2 is ``prefix.pdmodel`` and ``prefix.pdiparams``; the folder form of 1.x
is ``__model__`` and a file per variable, or one for all. The program is in Paddle's format
(``files.paddle``), or in that of ``files.programs`` where it has no form in Paddle's, with the
names to feed and to fetch; variables are in that of ``files.variables``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import (
    CheckpointError,
    DtypeError,
    NotSupported,
    UsageError,
)
from argosy.framework import io
from argosy.static.files import programs
from argosy.static.files.paddle import write as paddle_files
from argosy.static.files.variables import (
    is_persistable,
    load_vars,
    read_vars,
    save_vars,
    store_vars,
    valid_program,
)
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.ir.variable import Variable
from argosy.static.ir.verify import check_pass, unwritten
from argosy.static.lower import feed
from argosy.static.lower.pruning import only_needed


class UnknownOption(NotSupported, ValueError):
    """A call has an option that it does not know."""


def normalize_program(program: Program, feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> Program:
    """A copy for inference: test mode, and only what ``fetch_vars`` depend on (everything, with
    ``skip_prune_program``).
    """
    skips_pruning = kwargs.pop("skip_prune_program", False)
    if kwargs:
        raise UsageError(f"normalize_program: unknown options {sorted(kwargs)}")
    if not isinstance(program, Program):
        raise DtypeError(
            f"normalize_program: program must be a Program, but received {type(program).__name__}"
        )
    feeds, fetches = variables("feed_vars", feed_vars), variables("fetch_vars", fetch_vars)
    if keeps_auc(program):
        warnings.warn(
            "Be sure that you have set auc states to 0 before saving inference model.",
            stacklevel=2,
        )
    out = program.clone(for_test=True)
    out.readers = []  # what an inference program computes with is fed
    if skips_pruning:
        return out
    only_needed(out, [v.name for v in feeds], [v.name for v in fetches])
    block = out.global_block()
    read = {n for b in out.blocks for o in b.ops for n in o.input_arg_names}
    read |= {v.name for v in fetches}
    needless = [v.name for v in feeds if read.isdisjoint({v.name, *v.lod_names, *v.late_lod})]
    if needless:
        raise UsageError(
            f"normalize_program: feed_vars has {needless[0]!r}, which is not involved in the "
            f"target_vars calculation of {[v.name for v in fetches]}; leave it out"
        )
    given = feed.with_offsets(block, [v.name for v in feeds])
    unfed = [v.name for v in block.vars.values() if v.is_data and v.name not in given]
    if unfed:
        wanted = [v.name for v in fetches]
        warnings.warn(
            f"normalize_program: {wanted} depend on {unfed}, which are not among feed_vars; they "
            "must be fed all the same",
            stacklevel=2,
        )
    known = {*given, *unfed, *unwritten(program.global_block().ops)}
    check_pass(out.blocks, "normalize_program", known)
    return out


def keeps_auc(program: Program) -> bool:
    """Whether a program counts an AUC over its runs, which its variables then hold."""
    return any(operator.type == "auc" for operator in program.global_block().ops)


# -- as bytes
# --------------------------------------------------------------------------------------------------


def serialize_program(feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> bytes:
    """The program for inference as bytes."""
    program = _program_of("serialize_program", kwargs)
    return packed(normalize_program(program, feed_vars, fetch_vars), feed_vars, fetch_vars)


def serialize_persistables(
    feed_vars: Any, fetch_vars: Any, executor: Any, **kwargs: Any
) -> bytes | None:
    """What the current scope holds for the program for inference, as bytes; None where it keeps
    nothing.
    """
    program = _program_of("serialize_persistables", kwargs)
    return persistables_as_bytes(normalize_program(program, feed_vars, fetch_vars), executor)


def persistables_as_bytes(program: Program, executor: Any) -> bytes | None:
    """What the current scope holds for ``program``, as bytes; None where it keeps nothing."""
    kept = persistables(program)
    return save_vars(executor, None, program, kept) if kept else None


def deserialize_program(data: bytes) -> Program:
    """The program in bytes of ``serialize_program``."""
    return programs.loads(data, "the serialized program")[0]


def deserialize_persistables(program: Program, data: bytes | None, executor: Any) -> None:
    """Fill the variables of ``program`` in the current scope from bytes of
    ``serialize_persistables``.
    """
    if not isinstance(program, Program):
        raise DtypeError(
            "deserialize_persistables: program must be a Program, but received "
            f"{type(program).__name__}"
        )
    kept = persistables(program)
    if kept:
        load_vars(executor, None, program, kept, filename=data)


def save_to_file(path: str, content: bytes) -> None:
    """Write bytes; the file appears complete or not at all."""
    if not isinstance(content, bytes):
        raise UsageError(
            f"save_to_file: content must be bytes, but received {type(content).__name__}"
        )
    with io._writing(os.path.realpath(path)) as file:
        file.write(content)


def load_from_file(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


# -- as files
# --------------------------------------------------------------------------------------------------


def save_inference_model(
    path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Any, **kwargs: Any
) -> None:
    """Write what ``fetch_vars`` need, with the values of the current scope, to ``path_prefix``
    .pdmodel and .pdiparams.
    """
    program = valid_program("static.save_inference_model", kwargs.pop("program", None))
    if set(kwargs) - {"clip_extra", "legacy_format"}:
        raise NotSupported(
            f"static.save_inference_model: options {sorted(kwargs)} are not supported"
        )
    if not isinstance(path_prefix, str) or not os.path.basename(path_prefix):
        raise UsageError(
            "static.save_inference_model: the path must be folder/prefix, but received "
            f"{path_prefix!r}"
        )
    for path in (f"{path_prefix}.pdmodel", f"{path_prefix}.pdiparams"):
        if os.path.isdir(path):
            raise UsageError(f"static.save_inference_model: {path!r} is an existing directory")
    folder, name = os.path.split(path_prefix)
    write_model(
        folder, f"{name}.pdmodel", f"{name}.pdiparams", feed_vars, fetch_vars, executor, program
    )


def load_inference_model(path_prefix: str | None, executor: Any, **kwargs: Any) -> list[Any]:
    """Read an inference model into the current scope; returns the program, the names to feed and
    the variables to fetch.

    With ``path_prefix=None``, ``model_filename`` and ``params_filename`` are the bytes of the two
    files.
    """
    model, params = kwargs.pop("model_filename", None), kwargs.pop("params_filename", None)
    if kwargs:
        raise UnknownOption(
            f"static.load_inference_model: options {sorted(kwargs)} are not supported"
        )
    if path_prefix is not None and not isinstance(path_prefix, str):
        raise UsageError(
            "static.load_inference_model: path_prefix must be a string or None, but received "
            f"{type(path_prefix).__name__}"
        )
    if path_prefix is None:
        if not isinstance(model, bytes):
            raise UsageError(
                "static.load_inference_model: with path_prefix=None, model_filename must be bytes"
            )
        return with_marks(read_model(model, "the model", None, params, executor))
    if model is not None or params is not None:  # the names of files in the folder ``path_prefix``
        return with_marks(read_folder(path_prefix, model, params, executor))
    folder, name = os.path.split(path_prefix)
    return with_marks(read_folder(folder, f"{name}.pdmodel", f"{name}.pdiparams", executor))


def with_marks(model: list[Any]) -> list[Any]:
    """What was read, with the operators in the program by which scripts know what is fed and
    fetched.
    """
    program, feeds, fetches = model
    block = program.global_block()
    fed = [Operator(block, "feed", None, (), {"col": i}, Ref(n)) for i, n in enumerate(feeds)]
    fetched = [
        Operator(block, "fetch", None, (Ref(v.name),), {"col": i}, [])
        for i, v in enumerate(fetches)
    ]
    block.ops = [*fed, *block.ops, *fetched]
    program.changed()
    return model


def write_model(
    folder: str,
    model_filename: str,
    params_filename: str | None,
    feed_vars: Any,
    fetch_vars: Any,
    executor: Any,
    program: Program,
    program_only: bool = False,
) -> None:
    """Write the program for inference and, unless ``program_only``, its variables: to a file each
    if ``params_filename`` is None.
    """
    normal = normalize_program(program, feed_vars, fetch_vars)
    kept = persistables(normal)
    if not program_only:
        if kept:
            save_vars(executor, folder, normal, kept, filename=params_filename)
        elif params_filename is not None:
            warnings.warn(
                "no variable in your model, please ensure there are any variables in your model to "
                "save",
                stacklevel=3,
            )
            save_to_file(os.path.join(folder, params_filename), b"")
    # Last: a reader that finds the program finds its variables.
    save_to_file(os.path.join(folder, model_filename), packed(normal, feed_vars, fetch_vars))


def read_folder(
    folder: str,
    model_filename: str | None,
    params_filename: str | None,
    executor: Any,
    scope: Scope | None = None,
) -> list[Any]:
    """Read a program for inference and its variables from files of a folder, into ``scope`` or the
    current one.
    """
    path = os.path.join(folder, model_filename or "__model__")
    if not os.path.isfile(path):
        programs.refuse_json(path)
        raise CheckpointError(f"load_inference_model: there is no file {path!r}")
    return read_model(load_from_file(path), repr(path), folder, params_filename, executor, scope)


def read_model(
    data: bytes,
    source: str,
    folder: str | None,
    params: Any,
    executor: Any,
    scope: Scope | None = None,
) -> list[Any]:
    program, extra = programs.loads(data, source)
    if "fetches" not in extra:
        raise CheckpointError(
            f"load_inference_model: {source} was written by static.save; read it with static.load"
        )
    feeds, fetches = (
        programs.extra_names(program, extra, key, source) for key in ("feeds", "fetches")
    )
    kept = persistables(program)
    if kept:
        values = read_vars(folder, program, kept, filename=params)
        store_vars(values, scope or global_scope(), getattr(executor, "_device", None))
    block = program.global_block()
    return [program, feeds, [block.var(name) for name in fetches]]


def packed(normal: Program, feed_vars: Any, fetch_vars: Any) -> bytes:
    """A normalized program as bytes, with the names to feed and to fetch: in Paddle's format, or
    in our own where an operator has no form in that.
    """
    feeds = [v.name for v in variables("feed_vars", feed_vars)]
    fetches = [v.name for v in variables("fetch_vars", fetch_vars)]
    try:
        return paddle_files.dumps(normal, feeds, fetches)
    except paddle_files.Unwritable as error:
        warnings.warn(
            f"the program is saved in argosy's own format, which Paddle does not read: {error}",
            stacklevel=4,
        )
    return programs.dumps(normal, {"feeds": feeds, "fetches": fetches})


def persistables(program: Program) -> list[Variable]:
    return [v for v in program.list_vars() if is_persistable(v)]


def variables(argument: str, value: Any) -> Sequence[Variable]:
    """``value``, a Variable or a list of them, as a list."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Variable):
            raise DtypeError(
                f"{argument} must be a Variable or a list of them, but received "
                f"{type(item).__name__}"
            )
    return items


def _program_of(call: str, options: dict[str, Any]) -> Program:
    program = valid_program(call, options.pop("program", None))
    if set(options) - {"legacy_format"}:
        raise UsageError(f"{call}: unknown options {sorted(options)}")
    return program
