"""Making tensors."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import torch

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import DtypeError
from argosy.foundation.places import to_place
from argosy.ops.array import creation as ops
from argosy.ops.array.initialization import assign_value
from argosy.tensor._core.arguments import store
from argosy.tensor._core.defaults import defaults, float_dtype
from argosy.tensor._core.face import _dress, unary
from argosy.tensor._core.inplace import replace
from argosy.tensor._core.tensor import Tensor, apply, current_mode
from argosy.tensor._grids import (
    complex,
    diag,
    diag_embed,
    diagflat,
    meshgrid,
    polar,
    tril,
    tril_,
    tril_indices,
    triu,
    triu_,
    triu_indices,
    vander,
)
from argosy.tensor._shapes import like, packs_shape, shape_attr

__all__ = [
    "arange", "assign", "clone", "complex", "diag", "diag_embed", "diagflat", "empty",
    "empty_like", "eye", "full",
    "full_like", "linspace", "logspace", "meshgrid", "ones", "ones_like", "polar", "to_tensor",
    "tril", "tril_",
    "tril_indices", "triu", "triu_", "triu_indices", "vander", "zeros", "zeros_like",
]  # fmt: skip


def to_tensor(
    data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True
) -> Tensor:
    """Copy numbers, nested lists, arrays or tensors into a new Tensor.

    Python floats take the default dtype, Python integers int64; arrays keep theirs.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.5, 2]).dtype
        paddle.float32
    """
    records = getattr(current_mode(), "records", False)
    if records and _has_variable(data):
        variable = _recorded(data, dtype)
        variable.stop_gradient = stop_gradient
        return variable
    made = Tensor(data, dtype, place, stop_gradient)
    if not records:
        return made
    constant: Tensor = apply(assign_value, made.numpy(), made.raw.dtype)
    constant.stop_gradient = stop_gradient
    return constant


def _has_variable(data: Any) -> bool:
    """Whether a variable of a program is among nested data."""
    if isinstance(data, (list, tuple)):
        return any(_has_variable(item) for item in data)
    return isinstance(data, Tensor) and data.rebind is not None


def _recorded(data: Any, dtype: Any) -> Tensor:
    """Nested data with variables in it as one of a program."""
    from argosy.tensor.manipulation import cast, stack

    if isinstance(data, (list, tuple)):
        parts = [_recorded(v, None) if _has_variable(v) else to_tensor(v) for v in data]
        kind = next(p for p, v in zip(parts, data, strict=True) if _has_variable(v)).dtype
        out = stack([p if p.dtype == kind else cast(p, kind) for p in parts])
    else:
        out = assign(data)
    made: Tensor = out if dtype is None or out.dtype == dtype else cast(out, dtype)
    return made


def _device(device: Any) -> torch.device:
    return defaults.device if device is None else to_place(device).device


def _made(tensor: Any, out: Any, requires_grad: bool, call: str) -> Any:
    """What a creation function returns: the new tensor, or ``out`` with its values."""
    tensor = store(out, tensor, call)
    if requires_grad:
        tensor.stop_gradient = False
    return tensor


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Fill a new tensor with one value.

    Without ``dtype`` a bool makes a bool tensor, a complex number complex128, everything else the
    default dtype.

    Example:
        >>> import paddle
        >>> paddle.full([2], 7).tolist()
        [7.0, 7.0]
    """
    value, kind = _fill_value(fill_value)
    wanted = kind if dtype is None else to_torch(dtype)
    result = apply(ops.full, shape_attr(shape, "full"), value, wanted, _device(device))
    return (
        result if out is None and not requires_grad else _made(result, out, requires_grad, "full")
    )


def _fill_value(value: Any) -> tuple[Any, torch.dtype]:
    """The value as an op takes it, and the dtype it implies."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value), torch.bool
    if isinstance(value, (int, float, Tensor)):
        return value, defaults.dtype
    if isinstance(value, str):
        return float(value), defaults.dtype
    if isinstance(value, np.generic):
        return _fill_value(value.item())
    if isinstance(value, numbers.Complex):
        return value, torch.complex128
    raise DtypeError(
        f"full: fill_value must be a number or a Tensor, but received {type(value).__name__}"
    )


def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: Any = None,
    place: Any = None,
    name: str | None = None,
) -> Any:
    """``full`` under its 1.x name and order of arguments."""
    return full(shape, value, dtype, out=out, device="cpu" if force_cpu else place)


def _constant(value: float, call: str, doc: str) -> Any:
    """``zeros`` and ``ones``."""

    def face(
        shape: Any,
        dtype: Any = None,
        name: str | None = None,
        *,
        out: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Any:
        result = apply(
            ops.full, shape_attr(shape, call), value, float_dtype(dtype), _device(device)
        )
        return (
            result if out is None and not requires_grad else _made(result, out, requires_grad, call)
        )

    return _dress(face, call, doc)


def _constant_like(value: float, call: str, doc: str) -> Any:
    """``zeros_like`` and ``ones_like``."""

    def face(
        x: Any,
        dtype: Any = None,
        name: str | None = None,
        *,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Any:
        return full_like(x, value, dtype, device=device, requires_grad=requires_grad)

    return _dress(face, call, doc)


def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Fill a tensor of the shape, dtype and device of ``x`` with one value."""
    wanted = None if dtype is None else to_torch(dtype)
    place = None if device is None else to_place(device).device
    result = apply(ops.full_like, x, _fill_value(fill_value)[0], wanted, place)
    return _made(result, None, True, "full_like") if requires_grad else result


zeros = packs_shape(_constant(0.0, "zeros", "Make a tensor of zeros."))
ones = packs_shape(_constant(1.0, "ones", "Make a tensor of ones."))
zeros_like = _constant_like(
    0.0, "zeros_like", "Make a tensor of zeros with the shape, dtype and device of ``x``."
)
ones_like = _constant_like(
    1.0, "ones_like", "Make a tensor of ones with the shape, dtype and device of ``x``."
)


@packs_shape
def empty(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor without setting its elements."""
    result = apply(ops.empty, shape_attr(shape, "empty"), float_dtype(dtype), _device(device))
    return (
        result if out is None and not requires_grad else _made(result, out, requires_grad, "empty")
    )


def empty_like(
    x: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor of the shape and dtype of ``x`` without setting its elements."""
    wanted = x.raw.dtype if dtype is None else to_torch(dtype)
    shape, place = like(x, device)
    return empty(shape, wanted, device=place, requires_grad=requires_grad)


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Count from ``start`` (0 when only one bound is given) up to, without, ``end``.

    Without ``dtype`` the result is int64 if all three are integers, else the default dtype.

    Example:
        >>> import paddle
        >>> paddle.arange(1, 7, 2).tolist()
        [1, 3, 5]
    """
    if end is None:
        start, end = 0, start
    bounds = [v.item() if isinstance(v, np.generic) else v for v in (start, end, step)]
    if dtype is not None:
        wanted = to_torch(dtype)
    else:
        wanted = defaults.dtype if any(_is_fractional(v) for v in bounds) else torch.int64
    result = apply(ops.arange, *bounds, wanted, _device(device))
    return (
        result if out is None and not requires_grad else _made(result, out, requires_grad, "arange")
    )


def _is_fractional(value: Any) -> bool:
    return value.dtype.is_floating_point if isinstance(value, Tensor) else isinstance(value, float)


def linspace(
    start: Any,
    stop: Any,
    num: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Place ``num`` points evenly from ``start`` to ``stop``, both included."""
    count = num if isinstance(num, Tensor) else int(num)
    result = apply(ops.linspace, start, stop, count, float_dtype(dtype), _device(device))
    return (
        result
        if out is None and not requires_grad
        else _made(result, out, requires_grad, "linspace")
    )


def logspace(
    start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: str | None = None
) -> Any:
    """``base`` to the powers of ``num`` points evenly placed from ``start`` to ``stop``."""
    count = num if isinstance(num, Tensor) else int(num)
    return apply(ops.logspace, start, stop, count, base, float_dtype(dtype), defaults.device)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a matrix with ones on its diagonal."""
    columns = num_rows if num_columns is None else num_columns
    for label, count in (("num_rows", num_rows), ("num_columns", columns)):
        if not isinstance(count, Tensor) and (
            not isinstance(count, (int, np.integer)) or count < 0
        ):
            raise DtypeError(f"eye: {label} should be a non-negative int, but received {count!r}")
    result = apply(ops.eye, num_rows, columns, float_dtype(dtype), _device(device))
    return result if out is None and not requires_grad else _made(result, out, requires_grad, "eye")


clone = unary(ops.assign, "Copy a tensor; gradients flow through the copy.", "clone")


def assign(x: Any, output: Any = None) -> Any:
    """Copy a tensor, an array or numbers into a new tensor, or into ``output``.

    Python floats become float64 and a bare number becomes a tensor of shape [1].

    Example:
        >>> import paddle
        >>> paddle.assign([1.5]).dtype
        paddle.float64
    """
    if isinstance(x, Tensor):
        result = apply(ops.assign, x)
    elif isinstance(x, (list, tuple)) and any(isinstance(v, Tensor) for v in x):
        result = to_tensor(x)
    else:
        array = np.array([x] if np.isscalar(x) else x)
        if array.dtype.kind not in "biufc":
            raise DtypeError(
                f"assign: x must be a Tensor, an array or numbers, but received {type(x).__name__}"
            )
        result = to_tensor(array)
    return result if output is None else replace(output, result, "assign")


TENSOR_METHODS = [
    "clone",
    "diag",
    "diag_embed",
    "diagflat",
    "polar",
    "tril",
    "tril_",
    "triu",
    "triu_",
    "vander",
]
