"""Making, joining and converting tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy import tensor as T
from argosy.fluid._mode import records
from argosy.fluid._tracer import tracers
from argosy.fluid.layers._shape import at_least_1d
from argosy.fluid.missing import missing_names
from argosy.foundation import dtypes
from argosy.nn.parameter import create_parameter as _create_parameter
from argosy.ops.array.initialization import assign_value
from argosy.static.record.recorder import recorder
from argosy.tensor import assign as _assign
from argosy.tensor.engine import Tensor, apply, unique_name

Variable = Tensor

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "assign",
    "cast",
    "concat",
    "create_global_var",
    "create_parameter",
    "create_tensor",
    "diag",
    "eye",
    "fill_constant",
    "fill_constant_batch_size_like",
    "gaussian_random",
    "gaussian_random_batch_size_like",
    "has_inf",
    "has_nan",
    "isfinite",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "reverse",
    "sums",
    "uniform_random",
    "uniform_random_batch_size_like",
    "zeros",
    "zeros_like",
]


def cast(x: Any, dtype: Any) -> Any:
    """``x`` as another dtype."""
    return T.cast(x, dtype)


def concat(input: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Join tensors along an existing axis."""
    return T.concat(input, axis)


def sums(input: Any, out: Any = None) -> Any:
    """Add up the tensors of a list, element by element."""
    return assign(T.add_n(input), out)


def assign(input: Any, output: Any = None) -> Any:
    """A copy of a tensor, array or list; ``output`` is filled with it if given."""
    if not isinstance(input, Tensor) and records():
        array = np.asarray(input)
        input = apply(assign_value, array, dtypes.to_torch(str(array.dtype)))
    return _assign(input, output)


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
    parameter = _create_parameter(shape, dtype, name, attr, is_bias, default_initializer)
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
    name = name or unique_name.generate("global_var")
    extents = [int(n) for n in shape]
    if persistable:
        return recorder.new_state(name, extents, dtypes.to_torch(dtype), float(value))
    variable = recorder.main.global_block().create_var(name, extents, dtype, stop_gradient=True)
    recorder.write(variable, T.full(extents, value, dtype))
    return variable


def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """A tensor full of ``value``; ``out`` is filled with it if given. ``force_cpu`` changes
    nothing.
    """
    records()
    return T.full(shape, value, dtype) if out is None else assign(T.full(shape, value, dtype), out)


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
    return T.full(_shape_like(input, shape, input_dim_idx, output_dim_idx), value, dtype)


def _shape_like(input: Any, shape: Any, input_dim_idx: int, output_dim_idx: int) -> list[Any]:
    """``shape`` with one extent of ``input`` in it: a number, or a variable where only a run
    tells.
    """
    extents, known = list(shape), input.shape[input_dim_idx]
    extents[output_dim_idx] = known if known >= 0 else T.shape(input)[input_dim_idx]
    return extents


def zeros(shape: Any, dtype: Any, force_cpu: bool = False, name: str | None = None) -> Any:
    """A tensor full of zeros."""
    records()
    return T.zeros(shape, dtype)


def ones(shape: Any, dtype: Any, force_cpu: bool = False) -> Any:
    """A tensor full of ones."""
    records()
    return T.ones(shape, dtype)


def zeros_like(x: Any, out: Any = None) -> Any:
    """Zeros in the shape and dtype of ``x``."""
    return T.zeros_like(x) if out is None else assign(T.zeros_like(x), out)


def ones_like(x: Any, out: Any = None) -> Any:
    """Ones in the shape and dtype of ``x``."""
    return T.ones_like(x) if out is None else assign(T.ones_like(x), out)


def range(start: Any, end: Any, step: Any, dtype: Any, name: str | None = None) -> Any:
    """The numbers from ``start`` to before ``end``, ``step`` apart."""
    records()
    return T.arange(start, end, step, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``num`` numbers from ``start`` to ``stop``, equally far apart."""
    records()
    return T.linspace(start, stop, num, dtype or "float32")


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


def argmax(x: Any, axis: int = 0) -> Any:
    """Index of the largest element along ``axis``."""
    return T.argmax(x, axis)


def argmin(x: Any, axis: int = 0) -> Any:
    """Index of the smallest element along ``axis``."""
    return T.argmin(x, axis)


def argsort(
    input: Any, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The sorted values along ``axis``, and where they were."""
    ids = T.argsort(input, axis, descending)
    return T.take_along_axis(input, ids, axis), ids


def reverse(x: Any, axis: Any) -> Any:
    """``x`` backwards along the given axes."""
    return T.flip(x, axis)


def uniform_random(
    shape: Any,
    dtype: Any = "float32",
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """Numbers drawn uniformly from [min, max)."""
    records()
    return T.uniform(shape, dtype, min, max, seed)


def gaussian_random(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = "float32",
    name: str | None = None,
) -> Any:
    """Numbers drawn from a normal distribution."""
    records()
    return T.gaussian(shape, mean, std, seed, dtype)


def uniform_random_batch_size_like(
    input: Any,
    shape: Any,
    dtype: Any = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Any:
    """As ``uniform_random``, with axis ``output_dim_idx`` as long as axis ``input_dim_idx`` of
    ``input``.
    """
    return T.uniform(
        _shape_like(input, shape, input_dim_idx, output_dim_idx), dtype, min, max, seed
    )


def gaussian_random_batch_size_like(
    input: Any,
    shape: Any,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = "float32",
) -> Any:
    """As ``gaussian_random``, with axis ``output_dim_idx`` as long as axis ``input_dim_idx`` of
    ``input``.
    """
    return T.gaussian(
        _shape_like(input, shape, input_dim_idx, output_dim_idx), mean, std, seed, dtype
    )


def isfinite(x: Any) -> Any:
    """Whether all elements are finite, of shape [1]."""
    return at_least_1d(T.all(T.isfinite(x)))


def has_inf(x: Any) -> Any:
    """Whether an element is infinite, of shape [1]."""
    return at_least_1d(T.any(T.isinf(x)))


def has_nan(x: Any) -> Any:
    """Whether an element is NaN, of shape [1]."""
    return at_least_1d(T.any(T.isnan(x)))


__getattr__ = missing_names(__name__, globals())
