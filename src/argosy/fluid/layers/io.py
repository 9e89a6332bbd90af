"""``fluid.layers.io``: what a program is fed: ``layers.data``, and readers that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy import static
from argosy.fluid.core import VarDesc
from argosy.fluid.data import Declared
from argosy.fluid.dygraph.tracer import begin_recording, tracers
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.static.run.readers import ProgramLoader
from argosy.utils.unique_name import generate


def data(
    name: str,
    shape: Any,
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Any:
    """Declare a variable that runs are fed with; a batch dimension is put in front unless a
    dimension is None or negative.

    ``type`` can only be that of dense tensors, which is the default.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     list(fluid.layers.data("x", [784]).shape), list(fluid.layers.data("y", [-1, 1],
        ...         dtype="int64").shape)
        ([-1, 784], [-1, 1])
        >>> paddle.disable_static()
    """
    if not tracers.is_guarded:
        begin_recording("fluid.layers.data")
    if type not in (None, VarDesc.VarType.LOD_TENSOR):
        raise NotSupported(f"fluid.layers.data: type={type!r}; only dense tensors can be fed")
    if not isinstance(shape, (list, tuple)):
        raise DtypeError(
            f"fluid.layers.data: shape must be a list or tuple, but received {shape!r}"
        )
    is_whole = not append_batch_size or any(n is None or n < 0 for n in shape)
    extents = list(shape) if is_whole else [-1, *shape]
    if tracers.is_guarded:
        return Declared(name, extents, dtype)
    variable = static.data(name, extents, dtype, lod_level)
    variable.stop_gradient = stop_gradient
    variable.checks_feed = False  # as in 1.x, which checks what fluid.data declares
    return variable


def py_reader(
    capacity: int,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[Any],
    lod_levels: Sequence[int] | None = None,
    name: str | None = None,
    use_double_buffer: bool = True,
) -> ProgramLoader:
    """A reader of batches with fields of these shapes, which include the batch; ``read_file`` gives
    the variables.

    ``decorate_paddle_reader`` or ``decorate_tensor_provider`` names the source, ``start()`` and
    ``reset()`` enclose a pass.
    """
    begin_recording("fluid.layers.py_reader")
    levels = [0] * len(shapes) if lod_levels is None else list(lod_levels)
    if not len(shapes) == len(dtypes) == len(levels):
        raise UsageError(
            "py_reader: shapes, dtypes and lod_levels must be equally long, but are "
            f"{len(shapes)}, {len(dtypes)} and {len(levels)}"
        )
    base = name or generate("py_reader")
    variables = [
        static.data(f"{base}_{i}", list(shape), dtype, level)
        for i, (shape, dtype, level) in enumerate(zip(shapes, dtypes, levels, strict=True))
    ]
    return ProgramLoader(variables, capacity, use_double_buffer, iterable=False)


def create_py_reader_by_data(
    capacity: int, feed_list: Sequence[Any], name: str | None = None, use_double_buffer: bool = True
) -> ProgramLoader:
    """A reader of batches for variables that exist."""
    return ProgramLoader(feed_list, capacity, use_double_buffer, iterable=False)


def read_file(reader: ProgramLoader) -> Any:
    """The variables of a reader: a list, or the one variable where there is one."""
    variables = list(reader.feed_list)
    return variables[0] if len(variables) == 1 else variables


def double_buffer(
    reader: ProgramLoader, place: Any = None, name: str | None = None
) -> ProgramLoader:
    """``reader``: it reads ahead anyway."""
    return reader
