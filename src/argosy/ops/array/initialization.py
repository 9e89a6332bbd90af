"""Ops that make the first values of parameters.

Random values of half-precision dtypes are drawn in float32 and rounded, so that their grain does
not bend the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from argosy.ops.table import op
from argosy.ops.traits import Precision

_HALF = (torch.float16, torch.bfloat16)


def _drawn(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Memory to draw into: float32 for half-precision dtypes."""
    return torch.empty(list(shape), dtype=torch.float32 if dtype in _HALF else dtype)


def _generator(seed: int) -> torch.Generator | None:
    """A generator of its own for a seed other than 0, which stands for the process's one."""
    return torch.Generator().manual_seed(seed) if seed else None


@op(
    "fill_constant",
    precision=Precision.GRAY,
    types=(
        "fill_constant(shape/ShapeTensorList/ShapeTensor, value/ValueTensor:number, dtype:dtype)",
    ),
)
def fill_constant(shape: Sequence[int], value: float, dtype: torch.dtype) -> Tensor:
    return torch.full(list(shape), value, dtype=dtype)


@op("assign_value", layer="assign", types=("assign_value(values:values, dtype:dtype)",))
def assign_value(values: Any, dtype: torch.dtype) -> Tensor:
    """A new tensor of given values: a NumPy array or nested lists of numbers."""
    return torch.as_tensor(values).to(dtype, copy=True)  # what comes of it is trained in place


@op(
    "uniform_random",
    is_random=True,
    precision=Precision.GRAY,
    types=("uniform_random(shape/ShapeTensorList/ShapeTensor, min, max, dtype:dtype, seed)",),
)
def uniform_random(
    shape: Sequence[int], min: float, max: float, dtype: torch.dtype, seed: int = 0
) -> Tensor:
    return _drawn(shape, dtype).uniform_(min, max, generator=_generator(seed)).to(dtype)


@op(
    "gaussian_random",
    is_random=True,
    precision=Precision.GRAY,
    types=("gaussian_random(shape/ShapeTensorList/ShapeTensor, mean, std, dtype:dtype, seed)",),
)
def gaussian_random(
    shape: Sequence[int], mean: float, std: float, dtype: torch.dtype, seed: int = 0
) -> Tensor:
    if std == 0.0:
        return torch.full(list(shape), mean, dtype=dtype)
    return _drawn(shape, dtype).normal_(mean, std, generator=_generator(seed)).to(dtype)


@op(
    "truncated_gaussian_random",
    is_random=True,
    types=("truncated_gaussian_random(shape, mean, std, a, b, dtype:dtype, seed)",),
)
def truncated_gaussian_random(
    shape: Sequence[int],
    mean: float,
    std: float,
    a: float,
    b: float,
    dtype: torch.dtype,
    seed: int = 0,
) -> Tensor:
    """Draw from N(mean, std) restricted to [a, b], by inverting the distribution function.

    Drawn in float64: with bounds many deviations away, a float32 draw would round to the end of the
    distribution and give the bound itself once in some millions of values.
    """

    def scaled_cdf(x: float) -> float:
        return math.erf((x - mean) / (std * math.sqrt(2.0)))

    drawn = torch.empty(list(shape), dtype=torch.float64)
    drawn.uniform_(scaled_cdf(a), scaled_cdf(b), generator=_generator(seed))
    return drawn.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b).to(dtype)


@op("orthogonal_random", is_random=True)
def orthogonal_random(shape: Sequence[int], gain: float, dtype: torch.dtype) -> Tensor:
    """A random matrix with orthonormal rows or columns, whichever are fewer; dimensions after the
    first are one.
    """
    rows = shape[0]
    columns = math.prod(shape[1:])
    drawn = _drawn([max(rows, columns), min(rows, columns)], dtype).normal_()
    q, r = torch.linalg.qr(drawn)
    # the signs make the result uniform over orthogonal matrices
    q = q * r.diagonal().sign()
    if rows < columns:
        q = q.mT
    return (q.reshape(list(shape)) * gain).to(dtype)


@op("dirac")
def dirac(shape: Sequence[int], groups: int, dtype: torch.dtype) -> Tensor:
    """A convolution weight that hands its input channels on."""
    out = torch.zeros(list(shape), dtype=dtype)
    per_group = shape[0] // groups
    kept = torch.arange(min(per_group, shape[1]))
    centre = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        index: tuple[Any, ...] = (kept + group * per_group, kept, *centre)
        out[index] = 1.0
    return out


def bilinear_kernel(shape: Sequence[int]) -> Tensor:
    """Paddle's interpolation kernel [out, in, k, k]; its row coordinate is not rounded down to the
    row.
    """
    size = shape[3]
    half = math.ceil(size / 2.0)
    centre = (2 * half - 1 - half % 2) / (2.0 * half)
    cell = torch.arange(math.prod(shape), dtype=torch.float64)
    x = cell % size
    y = (cell / size) % size
    kernel = (1 - (x / half - centre).abs()) * (1 - (y / half - centre).abs())
    return kernel.to(torch.float32).reshape(list(shape))
