"""Readers that belong to a program: ``fluid.layers.py_reader`` and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.fluid._mode import begin_recording
from argosy.foundation.errors import UsageError
from argosy.static import data
from argosy.static.run.readers import ProgramLoader
from argosy.utils.unique_name import generate

__all__ = ["create_py_reader_by_data", "double_buffer", "py_reader", "read_file"]


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
        data(f"{base}_{i}", list(shape), dtype, level)
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
    variables = list(reader._feed_list)
    return variables[0] if len(variables) == 1 else variables


def double_buffer(
    reader: ProgramLoader, place: Any = None, name: str | None = None
) -> ProgramLoader:
    """``reader``: it reads ahead anyway."""
    return reader
