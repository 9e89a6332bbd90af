"""Updates from row-sparse gradients: only the rows that the batch looked up are touched.

A gradient is given as ``rows`` (int64, may repeat) and ``values`` (one row each); ``merge_rows`` sums repeated rows. Like
``updates``, these ops overwrite parameter and state and return the parameter.
"""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.adam_updates import power
from argosy.ops.table import op
from argosy.ops.updates import rounded


def split_rows(grad: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and values of a torch sparse tensor with one sparse dimension, repeated rows summed."""
    merged = grad.coalesce()
    return merged.indices()[0], merged.values()


@op("sgd_rows_")
def sgd_rows_(param: Tensor, rows: Tensor, values: Tensor, lr: float) -> Tensor:
    return param.index_add_(0, rows, values, alpha=-lr)


@op("adagrad_rows_")
def adagrad_rows_(param: Tensor, rows: Tensor, values: Tensor, moment: Tensor, lr: float, epsilon: float) -> Tensor:
    """``rows`` must not repeat."""
    new = moment.index_select(0, rows).addcmul_(values, values)
    moment.index_copy_(0, rows, new)
    return param.index_add_(0, rows, values / new.sqrt().add_(epsilon), alpha=-lr)


@op("adam_rows_")
def adam_rows_(
    param: Tensor,
    rows: Tensor,
    values: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    moment2_max: Tensor | None,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
) -> Tensor:
    """Adam's lazy mode; ``rows`` must not repeat. ``weight_decay`` is decoupled. ``step`` is only read."""
    count, dtype = step.item(), param.dtype
    beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    m = moment1.index_select(0, rows).mul_(beta1).add_(values, alpha=1.0 - beta1)
    v = moment2.index_select(0, rows).mul_(beta2).addcmul_(values, values, value=1.0 - beta2)
    moment1.index_copy_(0, rows, m)
    moment2.index_copy_(0, rows, v)
    if moment2_max is not None:
        v = torch.maximum(v, moment2_max.index_select(0, rows))
        moment2_max.index_copy_(0, rows, v)
    old = param.index_select(0, rows).mul_(1.0 - lr * weight_decay)
    scale = v.div(1.0 - power(beta2, count, dtype)).sqrt_().add_(epsilon)
    return param.index_copy_(0, rows, old.addcdiv_(m, scale, value=-lr / (1.0 - power(beta1, count, dtype))))
