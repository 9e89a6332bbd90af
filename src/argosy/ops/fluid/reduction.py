"""Reductions of 1.x: over everything they have shape [1]."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.math import reduction
from argosy.ops.math.reduction import Axis
from argosy.ops.table import Op, define, op
from argosy.ops.traits import Precision


@op("mean_of_all", fluid="mean(X)", precision={"mean": Precision.BLACK}, layer="mean")
def mean_of_all(x: Tensor) -> Tensor:
    out: Tensor = reduction.mean.fn(x)
    return out.reshape(1)


def _reduction(base: Op, keeps_dtype: bool = False, precision: Precision | None = None) -> Op:
    def reduce(x: Tensor, axis: Axis = None, keepdim: bool = False) -> Tensor:
        options = {"dtype": x.dtype} if keeps_dtype else {}
        out: Tensor = base.fn(x, axis, keepdim=keepdim, **options)
        return out.reshape(1) if out.ndim == 0 else out

    given = {} if precision is None else {"precision": {base.type: precision}}
    text = f"{base.type}(X, dim:axes, keep_dim)"
    return define(f"fluid_{base.type}", reduce, fluid=text, **given)


reduce_sum = _reduction(reduction.sum, keeps_dtype=True, precision=Precision.BLACK)
reduce_mean = _reduction(reduction.mean, precision=Precision.BLACK)
reduce_max = _reduction(reduction.max)
reduce_min = _reduction(reduction.min)
reduce_prod = _reduction(reduction.prod, keeps_dtype=True, precision=Precision.BLACK)
reduce_all = _reduction(reduction.all)
reduce_any = _reduction(reduction.any)


@op("fluid_is_empty", types=("is_empty(X)",))
def is_empty(x: Tensor) -> Tensor:
    """Whether there is no element, as [1]."""
    return torch.full([1], x.numel() == 0, dtype=torch.bool, device=x.device)


@op("fluid_cumsum", fluid="cumsum(X, axis, exclusive, reverse)", layer="cumsum")
def cumsum(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Sums of all elements up to each one; without itself if ``exclusive``, from the end if
    ``reverse``.
    """
    given = x.flip(axis) if reverse else x
    total = torch.cumsum(given, axis, dtype=x.dtype)
    if exclusive:
        total = total - given
    return total.flip(axis) if reverse else total
