"""``fluid.layers.tensor``: making, joining and converting tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import records, tracers
from argosy.fluid.layers.nn import shape_like
from argosy.fluid.table import at_least_1d, define, filled, name_results
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn import parameter as _parameter
from argosy.ops.array.initialization import assign_value
from argosy.ops.fluid.shape import fill_zeros_like
from argosy.static.record.arrays import ArrayVariable, record_joined
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, apply, unique_name

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
argmax(x, axis=0) -> tensor.argmax(x, axis)
argmin(x, axis=0) -> tensor.argmin(x, axis)
cast(x, dtype) -> tensor.cast(x, dtype)
concat(input, axis=0, name=None) -> tensor.concat(input, axis)
fill_constant(shape, dtype, value, force_cpu=False, out=None, name=None)
  -> tensor.full(shape, value, dtype), recorded, into out
kron(x, y, out=None, name=None) -> tensor.kron(x, y), into out
ones(shape, dtype, force_cpu=False) -> tensor.ones(shape, dtype), recorded
ones_like(x, out=None) -> tensor.ones_like(x), into out
range(start, end, step, dtype, name=None) -> tensor.arange(start, end, step, dtype), recorded
reverse(x, axis) -> tensor.flip(x, axis)
sums(input, out=None) -> tensor.add_n(input), into out
trace(input, offset=0, dim1=0, dim2=1, out=None, name=None)
  -> tensor.trace(input, offset, dim1, dim2), as [1], into out
tril(input, diagonal=0, name=None) -> tensor.tril(input, diagonal)
triu(input, diagonal=0, name=None) -> tensor.triu(input, diagonal)
zeros(shape, dtype, force_cpu=False, name=None) -> tensor.zeros(shape, dtype), recorded
""",
)


def assign(input: Any, output: Any = None) -> Any:
    """A copy of a tensor, array or list; ``output`` is filled with it if given."""
    if not isinstance(input, Tensor) and records():
        array = np.asarray(input)
        input = apply(assign_value, array, dtypes.to_torch(str(array.dtype)))
        if output is None:
            return input
    return T.assign(input, output)


def tensor_array_to_tensor(
    input: Any, axis: int = 1, name: str | None = None, use_stack: bool = False
) -> tuple[Any, Any]:
    """The elements of an array one behind the other on ``axis``, or stacked on a new one, and how
    long each is there.
    """
    if isinstance(input, list):  # what arrays are in dygraph
        sizes = [1 if use_stack else element.shape[axis] for element in input]
        joined = T.stack(input, axis) if use_stack else T.concat(input, axis)
        return joined, T.to_tensor(sizes, "int32")
    if not isinstance(input, ArrayVariable):
        raise DtypeError(
            "tensor_array_to_tensor: input must be an array of tensors, but received "
            f"{type(input).__name__}"
        )
    return record_joined(input, axis, use_stack)


def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Any:
    """Make a parameter outside of a layer."""
    is_recorded = records()
    parameter = _parameter.create_parameter(shape, dtype, name, attr, is_bias, default_initializer)
    if not is_recorded:
        tracers.note(parameter)
    return parameter


def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Any:
    """A variable that other functions fill with ``assign`` or their ``out``; it takes over the
    shape of what it is given.
    """
    name = name or unique_name.generate("create_tensor")
    if not records():
        out = T.zeros([1], dtype)
        out.name = name
        return out
    return recorder.main.current_block().create_var(name, [], dtype, persistable=persistable)


def create_global_var(
    shape: Any,
    value: float,
    dtype: Any,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Any:
    """A variable that begins with ``value``: before the first run if ``persistable``, else in each
    run anew.
    """
    if not records():
        return T.full(shape, value, dtype)
    name = name or unique_name.generate("_generated_var")
    extents = [int(n) for n in shape]
    if persistable:
        return recorder.new_state(name, extents, dtypes.to_torch(dtype), float(value))
    variable = recorder.main.global_block().create_var(name, extents, dtype, stop_gradient=True)
    recorder.write(variable, T.full(extents, value, dtype))
    return variable


def fill_constant_batch_size_like(
    input: Any,
    shape: Any,
    dtype: Any,
    value: Any,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    force_cpu: bool = False,
) -> Any:
    """A tensor full of ``value`` whose axis ``output_dim_idx`` is as long as axis ``input_dim_idx``
    of ``input``.
    """
    return T.full(shape_like(input, shape, input_dim_idx, output_dim_idx), value, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``num`` numbers from ``start`` to ``stop``, equally far apart."""
    records()
    return T.linspace(start, stop, num, dtype or "float32")


def arange(start: Any, end: Any, step: Any = 1, dtype: Any = None, name: str | None = None) -> Any:
    """Numbers from ``start`` up to ``end``, float32 unless ``dtype`` says otherwise."""
    records()
    return T.arange(start, end, step, dtype or "float32")


def full(
    shape: Any,
    fill_value: Any,
    out: Any = None,
    dtype: Any = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Any:
    """A tensor of ``shape``, float32 unless ``dtype`` says otherwise, filled with one value."""
    records()
    return _made(T.full(shape, fill_value, dtype or "float32"), out, device, stop_gradient)


def full_like(
    input: Any,
    fill_value: Any,
    out: Any = None,
    dtype: Any = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Any:
    """A tensor of the shape and dtype of ``input``, filled with one value."""
    return _made(T.full_like(input, fill_value, dtype), out, device, stop_gradient)


def _made(value: Any, out: Any, device: str | None, stop_gradient: bool) -> Any:
    if device not in (None, "", "cpu", "gpu"):
        raise UsageError(f"device must be 'cpu', 'gpu' or None, but received {device!r}")
    made = filled(value, out)
    made.stop_gradient = stop_gradient
    return made


def eye(
    num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = "float32"
) -> Any:
    """The identity matrix, repeated for each index of ``batch_shape``."""
    records()
    matrix = T.eye(num_rows, num_columns, dtype)
    return matrix if batch_shape is None else T.tile(matrix, [*batch_shape, 1, 1])


def diag(diagonal: Any) -> Any:
    """The square matrix with this diagonal."""
    return T.diag(T.to_tensor(diagonal) if isinstance(diagonal, np.ndarray) else diagonal)


def argsort(
    input: Any, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The sorted values along ``axis``, and where they were."""
    ids = T.argsort(input, axis, descending)
    return T.take_along_axis(input, ids, axis), ids


def isfinite(x: Any) -> Any:
    """Whether all elements are finite, of shape [1]."""
    return at_least_1d(T.all(T.isfinite(x)))


def has_inf(x: Any) -> Any:
    """Whether an element is infinite, of shape [1]."""
    return at_least_1d(T.any(T.isinf(x)))


def has_nan(x: Any) -> Any:
    """Whether an element is NaN, of shape [1]."""
    return at_least_1d(T.any(T.isnan(x)))


def zeros_like(x: Any, out: Any = None) -> Any:
    """Zeros of the shape and dtype of ``x``."""
    return filled(apply(fill_zeros_like, x), out)


name_results(
    globals(),
    """
arange range
argmax arg_max
argmin arg_min
has_inf isinf
has_nan isnan
ones fill_constant
sums sum
zeros fill_constant
""",
    but="create_global_var create_parameter create_tensor",
)
