"""``fluid.io``: loaders, reader decorators, and files of programs and of their variables."""

from __future__ import annotations

import os
import warnings
from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.static import Program, Variable
from argosy.static import save as _save
from argosy.static.files.inference import (
    keeps_auc,
    read_folder,
    read_model,
    variables,
    with_marks,
    write_model,
)
from argosy.static.files.variables import (
    is_parameter,
    is_persistable,
    load_vars,
    save_vars,
    valid_program,
)
from argosy.static.ir.attachment import ServerJob


def _job_of(program: Program) -> ServerJob | None:
    """The parameter-server job that saves and loads ``program`` in its own way."""
    return program.attachments.get(ServerJob)


def save_params(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Write the parameters of a program: each to a file of its name in ``dirname``, or all to
    ``filename`` there.

    Of a program that trains through parameter servers it writes what ``save_persistables`` does.
    """
    if _job_of(valid_program("save_params", main_program)) is not None:
        return save_persistables(executor, dirname, main_program, filename)
    return save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Write all that a program keeps from run to run, so that training can go on; files as of
    ``save_params``.

    Example:
        >>> import os, tempfile
        >>> import paddle.fluid as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup), fluid.unique_name.guard():
        ...     w = fluid.layers.create_parameter([2, 3], "float32", name="w")
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(startup)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fluid.io.save_persistables(exe, folder, main)
        ...     fluid.io.load_persistables(exe, folder, main)
        ...     os.listdir(folder)
        ['w']
        >>> paddle.disable_static()
    """
    program = valid_program("save_persistables", main_program)
    job = _job_of(program)
    if job is None:
        return save_vars(executor, dirname, program, predicate=is_persistable, filename=filename)
    job.save_persistables(executor, _folder("save_persistables", dirname, filename), program)
    return None


def load_params(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    filename: str | bytes | None = None,
) -> None:
    """Fill the parameters of a program from files of ``save_params``, or of Paddle's."""
    if _job_of(valid_program("load_params", main_program)) is not None:
        load_persistables(executor, dirname, main_program, filename)
    else:
        load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_persistables(
    executor: Any,
    dirname: str | None,
    main_program: Program | None = None,
    filename: str | bytes | None = None,
) -> None:
    """Fill all that a program keeps from files of ``save_persistables``, or of Paddle's."""
    program = valid_program("load_persistables", main_program)
    job = _job_of(program)
    if job is None:
        load_vars(executor, dirname, program, predicate=is_persistable, filename=filename)
        return
    job.load_persistables(executor, _folder("load_persistables", dirname, filename), program)


def _folder(call: str, dirname: str | None, filename: Any) -> str:
    if dirname is None or filename is not None:
        raise NotSupported(
            f"fluid.io.{call}: in a parameter-server job files are one per variable in dirname"
        )
    return dirname


def save(program: Program, model_path: str) -> None:
    """Write a program and its values to ``model_path`` .pdmodel, .pdparams and .pdopt."""
    if not os.path.basename(model_path):
        raise BadArgument(
            f"fluid.save: model_path must be dirname/filename, but received {model_path!r}"
        )
    _save(program, model_path, protocol=2)


def save_inference_model(
    dirname: str,
    feeded_var_names: Any,
    target_vars: Any,
    executor: Any,
    main_program: Program | None = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str]:
    """Write what ``target_vars`` need to a folder: the program to ``__model__``, its variables to a
    file each or to ``params_filename``.

    Returns the names of the targets. Differs from Paddle: ``__model__`` is in argosy's own format,
    which only it reads.
    """
    if not export_for_deployment:
        raise NotSupported(
            "fluid.io.save_inference_model: export_for_deployment=False is not supported; use "
            "fluid.save"
        )
    program = valid_program("save_inference_model", main_program)
    if keeps_auc(program):
        warnings.warn(
            "please ensure that you have set the auc states to zeros before saving inference model",
            stacklevel=2,
        )
    names = (
        [feeded_var_names] if isinstance(feeded_var_names, str) else list(feeded_var_names or ())
    )
    if not all(isinstance(name, str) for name in names):
        raise UsageError(
            "save_inference_model: feeded_var_names must be a list of names, but received "
            f"{names!r}"
        )
    block = program.global_block()
    feeds = [block.var(name) for name in names]
    targets = variables("target_vars", target_vars)
    job = _job_of(program)
    if job is not None:
        if model_filename or params_filename or program_only:
            raise NotSupported(
                "fluid.io.save_inference_model: in a parameter-server job model_filename, "
                "params_filename and program_only are not supported"
            )
        job.save_inference_model(executor, dirname, names, targets)
        return [v.name for v in targets]
    model = os.path.basename(model_filename) if model_filename else "__model__"
    params = os.path.basename(params_filename) if params_filename else None
    write_model(dirname, model, params, feeds, targets, executor, program, program_only)
    return [v.name for v in targets]


def load_inference_model(
    dirname: str | None,
    executor: Any,
    model_filename: str | bytes | None = None,
    params_filename: str | bytes | None = None,
    pserver_endpoints: Any = None,
) -> list[Any]:
    """Read an inference model into the current scope; returns the program, the names to feed and
    the variables to fetch.

    With ``dirname=None``, ``model_filename`` and ``params_filename`` are the bytes of the two
    files.
    """
    if pserver_endpoints:
        raise NotSupported("fluid.io.load_inference_model: pserver_endpoints is not supported")
    if dirname is None:
        if not isinstance(model_filename, bytes) or params_filename is None:
            raise UsageError(
                "load_inference_model: with dirname=None, model_filename and params_filename "
                "must be bytes"
            )
        return with_marks(read_model(model_filename, "the model", None, params_filename, executor))
    if not os.path.isdir(dirname):
        raise UsageError(f"load_inference_model: there is no directory named {dirname!r}")
    names = [
        os.path.basename(str(name)) if name else None for name in (model_filename, params_filename)
    ]
    return with_marks(read_folder(dirname, names[0], names[1], executor))


def get_program_parameter(program: Program) -> list[Variable]:
    """The parameters of a program."""
    return [v for v in program.list_vars() if is_parameter(v)]


def get_program_persistable_vars(program: Program) -> list[Variable]:
    """What a program keeps from run to run."""
    return [v for v in program.list_vars() if is_persistable(v)]
