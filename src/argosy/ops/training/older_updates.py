"""Updates of rules that only Paddle 1.x has optimizers for; as in ``updates``, in place on parallel
lists.
"""

from __future__ import annotations

import torch

from argosy.foundation import torch_private as private
from argosy.ops.table import op
from argosy.ops.training.updates import Tensors, decay_average_square_, single


@op("decayed_adagrad_", types=("decayed_adagrad",), mutates=("params", "moments"))
def decayed_adagrad_(
    params: Tensors, grads: Tensors, moments: Tensors, lr: float, decay: float, epsilon: float
) -> Tensors:
    """Adagrad with a decaying mean of squares in place of their sum."""
    decay_average_square_(moments, grads, single(decay))
    scale = private.foreach_sqrt(moments)
    private.foreach_add_(scale, epsilon)
    private.foreach_addcdiv_(params, grads, scale, -lr)
    return params


@op("ftrl_", types=("ftrl",), mutates=("params", "squares", "linears"))
def ftrl_(
    params: Tensors,
    grads: Tensors,
    squares: Tensors,
    linears: Tensors,
    lr: float,
    l1: float,
    l2: float,
    lr_power: float,
) -> Tensors:
    """Follow the regularised leader: elements whose linear part stays within ``l1`` become zero."""
    for p, g, square, linear in zip(params, grads, squares, linears, strict=True):
        old = square.pow(-lr_power)
        square.addcmul_(g, g)
        new = square.pow(-lr_power)
        linear.add_(g).sub_((new - old) / lr * p)
        shrunk = (l1 * linear.sign() - linear) / (new / lr + 2.0 * l2)
        p.copy_(torch.where(linear.abs() > l1, shrunk, 0.0))
    return params


@op("dpsgd_", types=("dpsgd",), mutates=("params",), is_random=True)
def dpsgd_(
    params: Tensors,
    grads: Tensors,
    lr: float,
    clip: float,
    batch_size: float,
    sigma: float,
    seed: int = 0,
) -> Tensors:
    """SGD with gradients of norm ``clip`` at most and one random number, of deviation ``sigma /
    batch_size``, added to all elements of a parameter. A seed other than 0 draws the same number at
    each step, as Paddle does.
    """
    generator = torch.Generator().manual_seed(seed) if seed else None
    for p, g in zip(params, grads, strict=True):
        scale = (g.norm() / clip).clamp_(min=1.0)
        noise = torch.randn((), generator=generator).item() * sigma / batch_size
        p.sub_(lr * (g / scale + noise))
    return params
