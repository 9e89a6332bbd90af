"""Updates as Paddle's operators have them: of single parameters, with results that are new tensors.

Optimizers call ops that work in place (``updates``, ``adam_updates``); these serve operators that
are added by hand. Adam and its relatives take the powers of their decay rates, where those count
steps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops import table
from argosy.ops.table import op
from argosy.ops.training.row_updates import split_rows
from argosy.ops.training.updates import Tensors, rounded, single
from argosy.ops.traits import SparseGradients


def _fit(grad: Tensor, dtype: torch.dtype) -> Tensor:
    return (grad.to_dense() if grad.is_sparse else grad).to(dtype)


@op("updated", sparse_gradients=SparseGradients.TAKEN)
def updated(
    update: str, params: Tensors, grads: Tensors, states: list[Tensors], settings: list[float]
) -> list[Tensors]:
    """What ``update``, an op of the table, makes of copies of parameters and states, in this
    order.
    """
    copies = [[t.detach().clone() for t in tensors] for tensors in (params, *states)]
    fitted = [_fit(g, p.dtype) for p, g in zip(params, grads, strict=True)]
    if params[0].is_meta:  # only shapes are asked for
        return copies
    for one in zip(*copies, fitted, strict=True):
        *own, grad = ([t] for t in one)
        table.get(update).fn(own[0], grad, *own[1:], *settings)
    return copies


@op("narrowed")
def narrowed(masters: Tensors, params: Tensors) -> Tensors:
    """What float32 masters are in the dtypes of their parameters."""
    return [m.to(p.dtype) for m, p in zip(masters, params, strict=True)]


@op("adam_by_powers", sparse_gradients=SparseGradients.TAKEN)
def adam_by_powers(
    param: Tensor,
    grad: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    beta1_pow: Tensor,
    beta2_pow: Tensor,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float = 0.0,
    lazy_mode: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Adam, after shrinking the parameter by 1 - lr·decay; with ``lazy_mode`` only the rows of a
    row-sparse gradient change.
    """
    beta1, beta2 = rounded(beta1, param.dtype), rounded(beta2, param.dtype)
    held = [t.detach() for t in (param, moment1, moment2)]
    is_lazy = lazy_mode and grad.is_sparse
    rows, grad = split_rows(grad) if is_lazy else (None, _fit(grad, param.dtype))
    p, m, v = held if rows is None else [t.index_select(0, rows) for t in held]
    rate, b1, b2 = (t.reshape(()).to(p.dtype) for t in (lr, beta1_pow, beta2_pow))
    m = beta1 * m + (1.0 - beta1) * grad
    v = beta2 * v + (1.0 - beta2) * grad * grad
    root = (1.0 - b2).sqrt()
    p = p * (1.0 - rate * decay) - rate * root / (1.0 - b1) * (m / (v.sqrt() + epsilon * root))
    if rows is not None:
        pairs = zip(held, (p, m, v), strict=True)
        p, m, v = (whole.index_copy(0, rows, part) for whole, part in pairs)
    return p, m, v, beta1_pow * beta1, beta2_pow * beta2


@op("adamax_by_power")
def adamax_by_power(
    param: Tensor,
    grad: Tensor,
    moment: Tensor,
    inf_norm: Tensor,
    beta1_pow: Tensor,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Adamax; its power is another operator's to advance."""
    beta1, beta2 = single(beta1), single(beta2)
    rate, power = (t.reshape(()).to(param.dtype) for t in (lr, beta1_pow))
    moment = beta1 * moment + (1.0 - beta1) * grad
    inf_norm = torch.maximum(grad.abs(), beta2 * inf_norm + epsilon)
    return param.detach() - rate / (1.0 - power) * (moment / inf_norm), moment, inf_norm


@op("lamb_by_powers", sparse_gradients=SparseGradients.TAKEN)
def lamb_by_powers(
    param: Tensor,
    grad: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    beta1_pow: Tensor,
    beta2_pow: Tensor,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    always_adapt: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    beta1, beta2 = single(beta1), single(beta2)
    grad, param = _fit(grad, param.dtype), param.detach()
    rate, b1, b2 = (t.reshape(()).to(param.dtype) for t in (lr, beta1_pow, beta2_pow))
    m = beta1 * moment1 + (1.0 - beta1) * grad
    v = beta2 * moment2 + (1.0 - beta2) * grad * grad
    direction = m / (1.0 - b1) / ((v / (1.0 - b2)).sqrt() + epsilon) + weight_decay * param
    if weight_decay > 0.0 or always_adapt:
        own, other = param.norm(), direction.norm()
        direction = direction * torch.where((own > 0) & (other > 0), own / other, 1.0)
    return param - rate * direction, m, v, beta1_pow * beta1, beta2_pow * beta2
