"""Making, joining and converting tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy import tensor as T
from argosy.fluid._missing import missing_names
from argosy.fluid._tracer import tracers
from argosy.nn._parameter import create_parameter as _create_parameter
from argosy.tensor import assign as _assign

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "assign",
    "cast",
    "concat",
    "create_parameter",
    "diag",
    "eye",
    "fill_constant",
    "fill_constant_batch_size_like",
    "gaussian_random",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "sums",
    "uniform_random",
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
    parameter = _create_parameter(shape, dtype, name, attr, is_bias, default_initializer)
    tracers.note(parameter)
    return parameter


def fill_constant(
    shape: Any, dtype: Any, value: Any, force_cpu: bool = False, out: Any = None, name: str | None = None
) -> Any:
    """A tensor full of ``value``; ``out`` is filled with it if given. ``force_cpu`` changes nothing."""
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
    """A tensor full of ``value`` whose axis ``output_dim_idx`` is as long as axis ``input_dim_idx`` of ``input``."""
    extents = list(shape)
    extents[output_dim_idx] = input.shape[input_dim_idx]
    return T.full(extents, value, dtype)


def zeros(shape: Any, dtype: Any, force_cpu: bool = False, name: str | None = None) -> Any:
    """A tensor full of zeros."""
    return T.zeros(shape, dtype)


def ones(shape: Any, dtype: Any, force_cpu: bool = False) -> Any:
    """A tensor full of ones."""
    return T.ones(shape, dtype)


def zeros_like(x: Any, out: Any = None) -> Any:
    """Zeros in the shape and dtype of ``x``."""
    return T.zeros_like(x) if out is None else assign(T.zeros_like(x), out)


def ones_like(x: Any, out: Any = None) -> Any:
    """Ones in the shape and dtype of ``x``."""
    return T.ones_like(x) if out is None else assign(T.ones_like(x), out)


def range(start: Any, end: Any, step: Any, dtype: Any, name: str | None = None) -> Any:
    """The numbers from ``start`` to before ``end``, ``step`` apart."""
    return T.arange(start, end, step, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> Any:
    """``num`` numbers from ``start`` to ``stop``, equally far apart."""
    return T.linspace(start, stop, num, dtype or "float32")


def eye(num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = "float32") -> Any:
    """The identity matrix, repeated for each index of ``batch_shape``."""
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


def argsort(input: Any, axis: int = -1, descending: bool = False, name: str | None = None) -> tuple[Any, Any]:
    """The sorted values along ``axis``, and where they were."""
    ids = T.argsort(input, axis, descending)
    return T.take_along_axis(input, ids, axis), ids


def uniform_random(
    shape: Any, dtype: Any = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Any:
    """Numbers drawn uniformly from [min, max)."""
    return T.uniform(shape, dtype, min, max, seed)


def gaussian_random(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Numbers drawn from a normal distribution."""
    return T.gaussian(shape, mean, std, seed, dtype)


__getattr__ = missing_names(__name__, globals())
