"""Updates of the Adam family: rules that correct moving averages for their start at zero.

As in ``updates``, ops work in place on parallel lists. ``step`` is a 0-d float32 tensor that counts
the steps of all parameters of the call; the op advances it.
"""

from __future__ import annotations

import math
import struct

import torch
from torch import Tensor

from argosy.ops.table import op
from argosy.ops.training.updates import (
    Tensors,
    by_size,
    decay_average_,
    decay_average_square_,
    rounded,
    single,
)

_powers: dict[tuple[float, float], float] = {}


def power(beta: float, count: float, dtype: torch.dtype = torch.float32) -> float:
    """``beta ** count`` as Paddle has it: multiplied up step by step in the dtype of the
    parameters.

    In float32 this differs from the true power by enough to show in the first steps of Adam, where
    1 - beta2 ** count is small. The latest powers are remembered, so that counting on costs one
    multiplication.
    """
    if dtype is torch.float64 or count != int(count):
        return float(beta**count)
    known = _powers.get((beta, count))
    if known is not None:
        return known
    value = _powers.get((beta, count - 1.0))
    if value is None:
        value = _multiplied_up(beta, int(count))
    else:
        value = struct.unpack("f", struct.pack("f", value * beta))[0]
    if len(_powers) >= 256:
        for old in list(_powers)[:128]:
            del _powers[old]
    _powers[beta, count] = value
    return value


def _multiplied_up(beta: float, count: int) -> float:
    value = 1.0
    for _ in range(count):
        following = struct.unpack("f", struct.pack("f", value * beta))[0]
        if following == value:
            break  # so small that rounding holds it in place
        value = following
    return value


_LATE = torch.full((), 1e9)  # a step count that leaves torch's fused Adam nothing to correct


def _corrected(
    step: Tensor,
    dtype: torch.dtype,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    plain_epsilon: bool = False,
) -> tuple[Tensor, float, float]:
    """The step count, rate and epsilon for torch's fused Adam such that it computes what Paddle
    does.

    On CPU the bias correction goes into rate and epsilon, with Paddle's powers; elsewhere it is
    left to the kernel, because reading the step count would wait for the device.
    """
    if not step.is_cpu:
        step.add_(1.0)
        return (
            step,
            lr,
            epsilon / math.sqrt(1.0 - power(beta2, step.item(), dtype))
            if plain_epsilon
            else epsilon,
        )
    count = step.item() + 1.0
    step.fill_(count)  # a third of the cost of add_
    root = math.sqrt(1.0 - power(beta2, count, dtype))
    return (
        _LATE,
        lr * root / (1.0 - power(beta1, count, dtype)),
        epsilon if plain_epsilon else epsilon * root,
    )


@op(
    "adam_",
    types=("adam", "merged_adam"),
    mutates=("params", "moment1s", "moment2s", "moment2_maxs", "step"),
    is_fused=True,
)
def adam_(
    params: Tensors,
    grads: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    moment2_maxs: Tensors,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    plain_epsilon: bool = False,
) -> Tensors:
    """``weight_decay`` is coupled (added to the gradient); ``moment2_maxs`` is empty unless
    ``amsgrad``.

    ``plain_epsilon`` is added to the root of the second moment as it is, else to the root corrected
    for its start from zero.
    """
    dtype = params[0].dtype
    beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    late, lr, epsilon = _corrected(step, dtype, lr, beta1, beta2, epsilon, plain_epsilon)

    def fused(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        torch._fused_adam_(
            params, grads, moment1s, moment2s, maxs, [late] * len(params), lr=lr, beta1=beta1,
            beta2=beta2,
            weight_decay=weight_decay, eps=epsilon, amsgrad=amsgrad, maximize=False,
        )  # fmt: skip

    def plain(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        if weight_decay:
            grads = list(torch._foreach_add(grads, params, alpha=weight_decay))
        _move(params, grads, moment1s, moment2s, maxs, lr, beta1, beta2, epsilon)

    by_size(fused, plain, params, grads, moment1s, moment2s, moment2_maxs)
    return params


def _move(
    params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors,
    lr: float, beta1: float, beta2: float, epsilon: float,
) -> None:  # fmt: skip
    """A step of Adam as foreach operations, after ``_corrected``."""
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)
    if maxs:
        torch._foreach_maximum_(maxs, moment2s)
    scale = torch._foreach_sqrt(maxs or moment2s)
    torch._foreach_add_(scale, epsilon)
    torch._foreach_addcdiv_(params, moment1s, scale, -lr)


@op(
    "adamw_",
    types=("adamw",),
    mutates=("params", "moment1s", "moment2s", "moment2_maxs", "step"),
    is_fused=True,
)
def adamw_(
    params: Tensors,
    grads: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    moment2_maxs: Tensors,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
) -> Tensors:
    """Adam that first shrinks the parameters by the factor 1 - lr·weight_decay."""
    dtype = params[0].dtype
    beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    late, rate, epsilon = _corrected(step, dtype, lr, beta1, beta2, epsilon)
    # The kernel multiplies decay by its rate, which holds the bias correction too.
    decay = weight_decay * lr / rate if rate else 0.0

    def fused(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        torch._fused_adamw_(
            params, grads, moment1s, moment2s, maxs, [late] * len(params), lr=rate, beta1=beta1,
            beta2=beta2,
            weight_decay=decay, eps=epsilon, amsgrad=amsgrad, maximize=False,
        )  # fmt: skip

    def plain(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        torch._foreach_mul_(params, 1.0 - lr * weight_decay)
        _move(params, grads, moment1s, moment2s, maxs, rate, beta1, beta2, epsilon)

    by_size(fused, plain, params, grads, moment1s, moment2s, moment2_maxs)
    return params


@op("adamax_", types=("adamax",), mutates=("params", "moments", "inf_norms", "step"))
def adamax_(
    params: Tensors,
    grads: Tensors,
    moments: Tensors,
    inf_norms: Tensors,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Tensors:
    """``epsilon`` is added to the decayed norm, before it is compared with the gradient."""
    dtype = params[0].dtype
    step.add_(1.0)
    correction = 1.0 - power(rounded(beta1, dtype), step.item(), dtype)
    beta1, beta2 = single(beta1), single(beta2)
    decay_average_(moments, grads, beta1)
    torch._foreach_mul_(inf_norms, beta2)
    torch._foreach_add_(inf_norms, epsilon)
    torch._foreach_maximum_(inf_norms, torch._foreach_abs(grads))
    torch._foreach_addcdiv_(params, moments, inf_norms, -lr / correction)
    return params


@op("lamb_", types=("lamb",), mutates=("params", "moment1s", "moment2s", "step"))
def lamb_(
    params: Tensors,
    grads: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float = 0.0,
    always_adapt: bool = False,
    corrects: bool = True,
) -> Tensors:
    """Adam's direction plus decay, its rate scaled per tensor by ‖param‖ / ‖direction‖ (where there
    is decay).

    Unless ``corrects``, the moments are taken as they are, without correction for their start from
    zero, and ``step`` stays.
    """
    beta1, beta2 = single(beta1), single(beta2)
    if corrects:
        step.add_(1.0)
    count, dtype = step.item(), params[0].dtype
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)
    scale = torch._foreach_div(moment2s, 1.0 - power(beta2, count, dtype) if corrects else 1.0)
    torch._foreach_sqrt_(scale)
    torch._foreach_add_(scale, epsilon)
    directions = torch._foreach_div(moment1s, 1.0 - power(beta1, count, dtype) if corrects else 1.0)
    torch._foreach_div_(directions, scale)
    torch._foreach_add_(directions, params, alpha=weight_decay)
    if weight_decay > 0.0 or always_adapt:
        norms = zip(torch._foreach_norm(params), torch._foreach_norm(directions), strict=True)
        torch._foreach_mul_(
            directions, [torch.where((p > 0) & (d > 0), p / d, 1.0) for p, d in norms]
        )
    torch._foreach_add_(params, directions, alpha=-lr)
    return params


@op(
    "nadam_",
    types=("nadam",),
    mutates=("params", "momentum_decay_pows", "beta2_pows", "mu_products", "moment1s", "moment2s"),
)
def nadam_(
    params: Tensors,
    grads: Tensors,
    momentum_decay_pows: Tensors,
    beta2_pows: Tensors,
    mu_products: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    momentum_decay: float,
) -> Tensors:
    """The first three states hold one number each, spread over the parameter's shape as Paddle
    stores them.
    """
    beta1, beta2 = single(beta1), single(beta2)
    torch._foreach_mul_(momentum_decay_pows, single(0.96))
    torch._foreach_mul_(beta2_pows, beta2)
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)
    for p, g, decay, beta2_pow, product, m, v in zip(
        params, grads, momentum_decay_pows, beta2_pows, mu_products, moment1s, moment2s, strict=True
    ):
        now = beta1 * (1.0 - 0.5 * decay**momentum_decay)
        following = beta1 * (1.0 - 0.5 * decay**momentum_decay * 0.96**momentum_decay)
        product.mul_(now)
        mean = following * m / (1.0 - product * following) + (1.0 - now) * g / (1.0 - product)
        p.sub_(lr * mean / ((v / (1.0 - beta2_pow)).sqrt_() + epsilon))
    return params


@op(
    "radam_",
    types=("radam",),
    mutates=("params", "beta1_pows", "beta2_pows", "rhos", "moment1s", "moment2s"),
)
def radam_(
    params: Tensors,
    grads: Tensors,
    beta1_pows: Tensors,
    beta2_pows: Tensors,
    rhos: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Tensors:
    """The first three states hold one number each, spread over the parameter's shape as Paddle
    stores them.
    """
    beta1, beta2 = single(beta1), single(beta2)
    rho_inf = 2.0 / (1.0 - beta2) - 1.0
    torch._foreach_mul_(beta1_pows, beta1)
    torch._foreach_mul_(beta2_pows, beta2)
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)
    for p, beta1_pow, beta2_pow, rho, m, v in zip(
        params, beta1_pows, beta2_pows, rhos, moment1s, moment2s, strict=True
    ):
        rho.copy_((rho * (beta2 - beta2_pow) + beta2_pow) / (1.0 - beta2_pow))
        length = rho_inf - 2.0 * rho.view(-1)[0]
        rectified = (
            (length - 4.0) * (length - 2.0) * rho_inf / ((rho_inf - 4.0) * (rho_inf - 2.0) * length)
        ).sqrt()
        adapted = rectified * (1.0 - beta2_pow).sqrt() / (v.sqrt() + epsilon)
        p.sub_(lr * m / (1.0 - beta1_pow) * torch.where(length > 5.0, adapted, 1.0))
    return params
