"""What a program is fed: ``layers.data``, and readers that belong to a program."""

from __future__ import annotations

from typing import Any

from argosy.fluid._mode import begin_recording
from argosy.fluid._py_reader import create_py_reader_by_data, double_buffer, py_reader, read_file
from argosy.fluid.core import VarDesc
from argosy.fluid.missing import missing_names
from argosy.foundation.errors import NotSupported, UsageError
from argosy.static import data as _data

__all__ = ["create_py_reader_by_data", "data", "double_buffer", "py_reader", "read_file"]


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
    begin_recording("fluid.layers.data")
    if type not in (None, VarDesc.VarType.LOD_TENSOR):
        raise NotSupported(f"fluid.layers.data: type={type!r}; only dense tensors can be fed")
    if not isinstance(shape, (list, tuple)):
        raise UsageError(
            f"fluid.layers.data: shape must be a list or tuple, but received {shape!r}"
        )
    is_whole = not append_batch_size or any(n is None or n < 0 for n in shape)
    variable = _data(name, list(shape) if is_whole else [-1, *shape], dtype, lod_level)
    variable.stop_gradient = stop_gradient
    return variable


__getattr__ = missing_names(__name__, globals())
