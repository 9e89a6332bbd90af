"""Making tensors from numbers, and from other tensors without regard to their values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.array.shape import axis_in, ints, number, require_equal_dtypes
from argosy.ops.table import op
from argosy.ops.traits import Precision


@op(
    "full",
    layer="fill_constant fill_constant",
    types=(
        "fill_constant(shape/ShapeTensorList/ShapeTensor, value/ValueTensor:number, "
        "dtype:dtype, -)",
    ),
)
def full(shape: Any, value: Any, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    size = ints(shape)
    if isinstance(value, Tensor):
        return value.detach().reshape(()).to(device=device, dtype=dtype).expand(size).clone()
    if (
        isinstance(value, float)
        and not dtype.is_floating_point
        and not dtype.is_complex
        and dtype is not torch.bool
    ):
        value = int(value)
    return torch.full(size, value, dtype=dtype, device=device)


@op("full_like", layer="full_like", types=("fill_any_like(X, value, dtype:dtype, -)",))
def full_like(
    x: Tensor, value: Any, dtype: torch.dtype | None = None, device: torch.device | None = None
) -> Tensor:
    return full.fn(x.shape, value, dtype or x.dtype, device or x.device)


@op("fill")
def fill(x: Tensor, value: Any) -> Tensor:
    """A tensor like ``x`` with one value; ``x`` gets a gradient of zeros."""
    if isinstance(value, Tensor):
        return torch.fill(x, value.reshape(()).to(x.dtype))
    return torch.fill(x, value if x.is_floating_point() or x.is_complex() else int(value))


@op("empty")
def empty(shape: Any, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    return torch.empty(ints(shape), dtype=dtype, device=device)


@op("arange", types=("range(Start, End, Step, -, -)",))
def arange(
    start: Any, end: Any, step: Any, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    first, last, stride = number(start), number(end), number(step)
    if not dtype.is_floating_point:
        first, last, stride = int(first), int(last), int(stride)
    if stride == 0:
        raise UsageError("arange: step must not be 0")
    if (last - first) * stride <= 0:
        return torch.empty(0, dtype=dtype, device=device)
    return torch.arange(first, last, stride, dtype=dtype, device=device)


@op("linspace", types=("linspace(start/Start, stop/Stop, num/Num:count, dtype:dtype)",))
def linspace(
    start: Any, stop: Any, num: Any, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    first, last, count = number(start), number(stop), int(number(num))
    if dtype.is_floating_point:
        return torch.linspace(first, last, count, dtype=dtype, device=device)
    # Integer results are the truncated values of the exact line, its end included.
    return torch.linspace(first, last, count, dtype=torch.float64, device=device).to(dtype)


@op("logspace", types=("logspace(start/Start, stop/Stop, num/Num:count, base/Base, dtype:dtype)",))
def logspace(
    start: Any,
    stop: Any,
    num: Any,
    base: Any,
    dtype: torch.dtype,
    device: torch.device | None = None,
) -> Tensor:
    first, last, count, radix = number(start), number(stop), int(number(num)), float(number(base))
    if dtype.is_floating_point:
        return torch.logspace(first, last, count, radix, dtype=dtype, device=device)
    return torch.logspace(first, last, count, radix, dtype=torch.float64, device=device).to(dtype)


@op("eye", types=("eye(num_rows, num_columns, dtype:dtype, -)",))
def eye(
    num_rows: Any, num_columns: Any, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    return torch.eye(int(number(num_rows)), int(number(num_columns)), dtype=dtype, device=device)


@op("meshgrid", types=("meshgrid(X) -> Out*",))
def meshgrid(inputs: list[Tensor]) -> list[Tensor]:
    require_equal_dtypes(inputs, "meshgrid")
    for position, tensor in enumerate(inputs):
        if tensor.ndim > 1:
            raise UsageError(
                f"meshgrid: inputs must be 0-D or 1-D, but input {position} has shape "
                f"{list(tensor.shape)}"
            )
    return [grid.clone() for grid in torch.meshgrid(inputs, indexing="ij")]


@op("diag", types=("diag_v2",))
def diag(x: Tensor, offset: int = 0, padding_value: float = 0) -> Tensor:
    if x.ndim > 2:
        raise UsageError(
            f"diag: x must have at most 2 dimensions, but its shape is {list(x.shape)}"
        )
    if x.ndim == 2:
        return torch.diagonal(x, offset).clone()
    out = torch.diag(x.reshape(-1), offset)
    if padding_value == 0:
        return out
    on_diagonal = torch.diag(torch.ones_like(x.reshape(-1), dtype=torch.bool), offset)
    return torch.where(on_diagonal, out, torch.full_like(out, padding_value))


@op("diag_embed", types=("diag_embed(Input, offset, dim1, dim2)",))
def diag_embed(x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    rank = x.ndim + 1
    if axis_in(dim1, rank, "diag_embed") == axis_in(dim2, rank, "diag_embed"):
        raise UsageError(f"diag_embed: dim1 and dim2 must differ, but both name axis {dim1}")
    return torch.diag_embed(x, offset, dim1, dim2)


@op("diagflat")
def diagflat(x: Tensor, offset: int = 0) -> Tensor:
    return torch.diagflat(x, offset)


def _at_least_matrix(x: Tensor, call: str) -> Tensor:
    if x.ndim < 2:
        raise UsageError(
            f"{call}: x must have at least 2 dimensions, but its shape is {list(x.shape)}"
        )
    return x


@op("tril", layer="=tril", types=("tril_triu(X, diagonal, lower=True)",))
def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    return torch.tril(_at_least_matrix(x, "tril"), diagonal)


@op("triu", layer="=triu", types=("tril_triu(X, diagonal, lower=False)",))
def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    return torch.triu(_at_least_matrix(x, "triu"), diagonal)


@op("tril_indices", types=("tril_indices(rows, cols, offset, dtype:dtype) -> out",))
def tril_indices(
    row: int, col: int, offset: int, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    return torch.tril_indices(row, col, offset, dtype=dtype, device=device or torch.device("cpu"))


@op("triu_indices", types=("triu_indices(row, col, offset, dtype:dtype) -> out",))
def triu_indices(
    row: int, col: int, offset: int, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    return torch.triu_indices(row, col, offset, dtype=dtype, device=device or torch.device("cpu"))


@op("assign", precision=Precision.UNTOUCHED)
def assign(x: Tensor) -> Tensor:
    return x.clone()


@op("complex", types=("complex(X, Y)",))
def complex(real: Tensor, imag: Tensor) -> Tensor:
    require_equal_dtypes([real, imag], "complex")
    return torch.complex(real, imag)


@op("polar")
def polar(magnitude: Tensor, angle: Tensor) -> Tensor:
    return torch.polar(magnitude, angle)


@op("vander")
def vander(x: Tensor, n: int, increasing: bool = False) -> Tensor:
    exponents = range(n) if increasing else range(n - 1, -1, -1)
    if n == 0:
        return x.new_empty((x.shape[0], 0))
    return torch.stack([torch.ones_like(x) if k == 0 else x**k for k in exponents], dim=1)
