"""Counting values: histograms and bincount."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.table import op


def _bounds(x: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
    """The range to count in: as given, or that of the data where both ends are 0; never of width
    0.
    """
    if high < low:
        raise UsageError(f"histogram: max must be >= min, but received min={low}, max={high}")
    if low == high == 0 and x.numel():
        first, last = x.min(), x.max()
    else:
        first, last = x.new_full((), low), x.new_full((), high)
    flat = first == last
    return torch.where(flat, first - 1, first), torch.where(flat, last + 1, last)


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise UsageError(f"histogram: bins must be at least 1, but received {bins}")


@op("histogram")
def histogram(
    x: Tensor,
    weight: Tensor | None = None,
    bins: int = 100,
    low: float = 0.0,
    high: float = 0.0,
    density: bool = False,
) -> Tensor:
    """Count the values of each of ``bins`` equal intervals; the last one includes its upper end."""
    _check_bins(bins)
    x = x.reshape(-1) if x.is_floating_point() else x.reshape(-1).to(torch.float64)
    first, last = _bounds(x, low, high)
    inside = (x >= first) & (x <= last)
    slot = torch.where(inside, (x - first) * bins / (last - first), 0).long().clamp(max=bins - 1)
    ones = torch.ones_like(slot) if weight is None else weight.reshape(-1)
    counts = ones.new_zeros(bins).scatter_add(0, slot, torch.where(inside, ones, 0))
    if not density:
        return counts
    counts = counts.to(torch.float32)
    return counts / (counts.sum() * ((last - first) / bins).to(torch.float32))


@op("histogram_bin_edges")
def histogram_bin_edges(x: Tensor, bins: int = 100, low: float = 0.0, high: float = 0.0) -> Tensor:
    _check_bins(bins)
    first, last = _bounds(x.to(torch.float32), low, high)
    return torch.linspace(first, last, bins + 1)


@op("histogramdd")
def histogramdd(
    x: Tensor,
    weights: Tensor | None,
    bins: Any,
    ranges: list[float] | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """Histogram of points in D dimensions: the counts and the D tensors of bin edges.

    ``bins`` is an int, D ints, or D tensors of edges. There is no gradient.
    """
    dims = x.shape[-1]
    shape = x.shape[:-1]
    if isinstance(bins, int):
        bins = [bins] * dims
    if len(bins) != dims:
        raise UsageError(
            f"histogramdd: x has {dims} dimensions, so bins needs {dims} entries, but received "
            f"{len(bins)}"
        )
    if ranges is not None and len(ranges) != 2 * dims:
        raise UsageError(
            f"histogramdd: ranges needs {2 * dims} numbers, but received {len(ranges)}"
        )
    points = x.detach().reshape(-1, dims)
    if weights is not None and weights.shape != shape:
        raise UsageError(
            f"histogramdd: weights must have shape {list(shape)}, but received "
            f"{list(weights.shape)}"
        )
    flat = None if weights is None else weights.reshape(-1)
    counts, edges = torch.histogramdd(
        points, list(bins), range=ranges, weight=flat, density=density
    )
    return counts, list(edges)


@op("bincount")
def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
    if x.is_floating_point() or x.is_complex() or x.dtype is torch.bool:
        raise DtypeError("bincount: the elements of x should all be integers")
    counts = torch.bincount(x, weights, minlength)
    return (
        counts if weights is None or not weights.is_floating_point() else counts.to(weights.dtype)
    )
