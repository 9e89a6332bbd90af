"""Updates from row-sparse gradients: only the rows that the batch looked up are touched.

A gradient is given as ``rows`` (int64, may repeat) and ``values`` (one row each); ``merge_rows``
sums repeated rows. Like ``updates``, these ops overwrite parameter and state and return the
parameter.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.ops.table import op
from argosy.ops.training.adam_updates import by_powers
from argosy.ops.training.updates import Tensors, rounded
from argosy.ops.traits import SparseGradients


def split_rows(grad: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and values of a torch sparse tensor with one sparse dimension, repeated rows summed; of
    a dense one, all rows.
    """
    if not grad.is_sparse:
        return torch.arange(grad.shape[0], device=grad.device), grad
    merged = grad.coalesce()
    return merged.indices()[0], merged.values()


@op("get_tensor_from_selected_rows", sparse_gradients=SparseGradients.TAKEN)
def get_tensor_from_selected_rows(x: Tensor) -> Tensor:
    """The values of the rows that are there, as they come."""
    return private.stored(x)


@op("merge_selected_rows", sparse_gradients=SparseGradients.TAKEN)
def merge_selected_rows(x: Tensor) -> Tensor:
    """The same rows, each once: those that repeat are summed."""
    return x.coalesce() if x.is_sparse else x


@op("sgd_rows_", mutates=("param",))
def sgd_rows_(param: Tensor, rows: Tensor, values: Tensor, lr: float) -> Tensor:
    return param.index_add_(0, rows, values, alpha=-lr)


@op("adagrad_rows_", mutates=("param", "moment"))
def adagrad_rows_(
    param: Tensor, rows: Tensor, values: Tensor, moment: Tensor, lr: float, epsilon: float
) -> Tensor:
    """``rows`` must not repeat."""
    new = moment.index_select(0, rows).addcmul_(values, values)
    moment.index_copy_(0, rows, new)
    return param.index_add_(0, rows, values / new.sqrt().add_(epsilon), alpha=-lr)


@op("adam_rows_", mutates=("param", "moment1", "moment2", "moment2_max"))
def adam_rows_(
    param: Tensor,
    rows: Tensor,
    values: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    moment2_max: Tensor | None,
    power1: float,
    power2: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
    plain_epsilon: bool = False,
) -> Tensor:
    """Adam's lazy mode; ``rows`` must not repeat. ``weight_decay`` is decoupled; ``power1`` and
    ``power2`` are those of the decay rates by which the moments are corrected.
    """
    dtype = param.dtype
    beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    m = moment1.index_select(0, rows).mul_(beta1).add_(values, alpha=1.0 - beta1)
    v = moment2.index_select(0, rows).mul_(beta2).addcmul_(values, values, value=1.0 - beta2)
    moment1.index_copy_(0, rows, m)
    moment2.index_copy_(0, rows, v)
    if moment2_max is not None:
        v = torch.maximum(v, moment2_max.index_select(0, rows))
        moment2_max.index_copy_(0, rows, v)
    old = param.index_select(0, rows).mul_(1.0 - lr * weight_decay)
    correction = 1.0 - power2
    scale = (
        v.div(correction)
        .sqrt_()
        .add_(epsilon / math.sqrt(correction) if plain_epsilon else epsilon)
    )
    return param.index_copy_(0, rows, old.addcdiv_(m, scale, value=-lr / (1.0 - power1)))


# The same for lists of parameters whose gradients are torch tensors with one sparse dimension; a
# dense gradient counts as one that has every row.


@op("sgd_sparse_", mutates=("params",), sparse_gradients=SparseGradients.TAKEN)
def sgd_sparse_(params: Tensors, grads: Tensors, lr: float) -> Tensors:
    for param, grad in zip(params, grads, strict=True):
        if grad.is_sparse:
            rows, values = private.sparse_indices(grad)[0], private.sparse_values(grad)
        else:
            rows, values = split_rows(grad)
        sgd_rows_.fn(param, rows, values, lr)
    return params


@op("adagrad_sparse_", mutates=("params", "moments"), sparse_gradients=SparseGradients.TAKEN)
def adagrad_sparse_(
    params: Tensors, grads: Tensors, moments: Tensors, lr: float, epsilon: float
) -> Tensors:
    for param, grad, moment in zip(params, grads, moments, strict=True):
        adagrad_rows_.fn(param, *split_rows(grad), moment, lr, epsilon)
    return params


@op(
    "adam_sparse_",
    mutates=("params", "moment1s", "moment2s", "moment2_maxs", "beta1_pows", "beta2_pows"),
    alike=("beta1_pows", "beta2_pows"),
    sparse_gradients=SparseGradients.TAKEN,
)
def adam_sparse_(
    params: Tensors,
    grads: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    moment2_maxs: Tensors,
    beta1_pows: Tensors,
    beta2_pows: Tensors,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
    lead: float = 0.0,
    plain_epsilon: bool = False,
) -> Tensors:
    """Adam's lazy mode; the powers move on by a step. The bias correction is ``lead`` steps ahead
    of them.
    """
    betas = rounded(beta1, params[0].dtype), rounded(beta2, params[0].dtype)

    def update(
        powers: list[float],
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors,
    ) -> None:  # fmt: skip
        ahead = [p * b**lead for p, b in zip(powers, betas, strict=True)]
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            adam_rows_.fn(
                param, *split_rows(grad), moment1s[i], moment2s[i], maxs[i] if maxs else None,
                *ahead, lr, beta1, beta2, epsilon, weight_decay, plain_epsilon,
            )  # fmt: skip

    lists = params, grads, moment1s, moment2s, moment2_maxs
    by_powers(update, (beta1_pows, beta2_pows), betas, lists)
    return params
