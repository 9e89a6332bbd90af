"""Parameter updates: one step of each optimizer as a multi-tensor op that works in place.

Every op takes lists that run in parallel (parameters, gradients, then its state) and plain hyper-parameters, overwrites
parameters and state, leaves gradients alone and returns the parameters. The tensors of one call share dtype and device;
parameters and state are contiguous. ``step`` is a 0-d float32 tensor that counts the steps of all parameters of the
call; the op advances it.

Hyper-parameters are rounded to float32 where Paddle's kernels do: with ``beta2=0.999`` the factor ``1 - beta2`` otherwise
differs in the fifth digit.
"""

from __future__ import annotations

import functools
import math
import struct

import torch
from torch import Tensor

from argosy.ops.table import op

Tensors = list[Tensor]


@functools.lru_cache(maxsize=256)
def single(value: float) -> float:
    """Round to float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def rounded(value: float, dtype: torch.dtype) -> float:
    """Round a hyper-parameter as Paddle's kernels for parameters of ``dtype`` do."""
    return value if dtype is torch.float64 else single(value)


_powers: dict[tuple[float, float], float] = {}


def power(beta: float, count: float, dtype: torch.dtype = torch.float32) -> float:
    """``beta ** count`` as Paddle has it: multiplied up step by step in the dtype of the parameters.

    In float32 this differs from the true power by enough to show in the first steps of Adam, where 1 - beta2 ** count is
    small. The latest powers are remembered, so that counting on costs one multiplication.
    """
    if dtype is torch.float64 or count != int(count):
        return float(beta**count)
    known = _powers.get((beta, count))
    if known is not None:
        return known
    value = _powers.get((beta, count - 1.0))
    value = _multiplied_up(beta, int(count)) if value is None else single(value * beta)
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
    params: Tensors, step: Tensor, lr: float, beta1: float, beta2: float, epsilon: float
) -> tuple[Tensors, float, float]:
    """Step counts, rate and epsilon for torch's fused Adam such that it computes what Paddle does.

    On CPU the bias correction goes into rate and epsilon, with Paddle's powers; elsewhere it is left to the kernel, because
    reading the step count would wait for the device.
    """
    if not step.is_cpu:
        step.add_(1.0)
        return [step] * len(params), lr, epsilon
    count, dtype = step.item() + 1.0, params[0].dtype
    step.fill_(count)  # a third of the cost of add_
    root = math.sqrt(1.0 - power(beta2, count, dtype))
    return [_LATE] * len(params), lr * root / (1.0 - power(beta1, count, dtype)), epsilon * root


def _in_order(grads: Tensors) -> Tensors:
    """Gradients in contiguous memory: the fused kernels walk raw memory and take no notice of strides."""
    for g in grads:
        if not g.is_contiguous():
            return [g.contiguous() for g in grads]
    return grads


def _decay_average_(averages: Tensors, values: Tensors, keep: float) -> None:
    """averages = keep * averages + (1 - keep) * values"""
    torch._foreach_mul_(averages, keep)
    torch._foreach_add_(averages, values, alpha=1.0 - keep)


def _decay_average_square_(averages: Tensors, values: Tensors, keep: float) -> None:
    """averages = keep * averages + (1 - keep) * values²"""
    torch._foreach_mul_(averages, keep)
    torch._foreach_addcmul_(averages, values, values, 1.0 - keep)


@op("l2_decay")
def l2_decay(grads: Tensors, params: Tensors, coeff: float) -> Tensors:
    """Gradients with the gradient of ½·coeff·‖params‖² added."""
    return list(torch._foreach_add(grads, params, alpha=coeff))


@op("l1_decay")
def l1_decay(grads: Tensors, params: Tensors, coeff: float) -> Tensors:
    """Gradients with the gradient of coeff·|params| added."""
    return list(torch._foreach_add(grads, torch._foreach_sign(params), alpha=coeff))


@op("sgd_", aliases=("sgd",))
def sgd_(params: Tensors, grads: Tensors, lr: float, weight_decay: float = 0.0) -> Tensors:
    torch._fused_sgd_(
        params, _in_order(grads), [], weight_decay=weight_decay, momentum=0.0, lr=lr, dampening=0.0, nesterov=False,
        maximize=False, is_first_step=False,
    )  # fmt: skip
    return params


@op("momentum_", aliases=("momentum", "merged_momentum"))
def momentum_(
    params: Tensors,
    grads: Tensors,
    velocities: Tensors,
    lr: float,
    mu: float,
    use_nesterov: bool = False,
    weight_decay: float = 0.0,
    rescale_grad: float = 1.0,
) -> Tensors:
    if rescale_grad != 1.0:
        grads = list(torch._foreach_mul(grads, rescale_grad))
    if mu == 0.0:
        # The fused kernel leaves the velocity alone here, Paddle's stores the gradient in it.
        if weight_decay:
            grads = list(torch._foreach_add(grads, params, alpha=weight_decay))
        torch._foreach_copy_(velocities, grads)
        torch._foreach_add_(params, grads, alpha=-lr)
        return params
    torch._fused_sgd_(
        params, _in_order(grads), velocities, weight_decay=weight_decay, momentum=mu, lr=lr, dampening=0.0,
        nesterov=use_nesterov, maximize=False, is_first_step=False,
    )  # fmt: skip
    return params


@op("lars_momentum_", aliases=("lars_momentum",))
def lars_momentum_(
    params: Tensors,
    grads: Tensors,
    velocities: Tensors,
    lr: float,
    mu: float,
    lars_coeff: float,
    lars_weight_decay: float,
    epsilon: float = 0.0,
    rescale_grad: float = 1.0,
) -> Tensors:
    """Momentum whose rate is scaled, per tensor, by ‖param‖ / (‖grad‖ + decay·‖param‖); without decay, plain momentum."""
    if rescale_grad != 1.0:
        grads = list(torch._foreach_mul(grads, rescale_grad))
    torch._foreach_mul_(velocities, mu)
    if lars_weight_decay > 0.0:
        param_norms = torch._foreach_norm(params)
        grad_norms = torch._foreach_norm(grads)
        moves = torch._foreach_add(grads, params, alpha=lars_weight_decay)
        for move, p, g in zip(moves, param_norms, grad_norms, strict=True):
            rate = lr * lars_coeff * p / (g + lars_weight_decay * p + epsilon)
            move.mul_(torch.where((p > 0) & (g > 0), rate, lr))
        torch._foreach_add_(velocities, moves)
    else:
        torch._foreach_add_(velocities, grads, alpha=lr)
    torch._foreach_sub_(params, velocities)
    return params


@op("adam_", aliases=("adam", "merged_adam"))
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
) -> Tensors:
    """``weight_decay`` is coupled (added to the gradient); ``moment2_maxs`` is empty unless ``amsgrad``."""
    dtype = params[0].dtype
    beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    steps, lr, epsilon = _corrected(params, step, lr, beta1, beta2, epsilon)
    torch._fused_adam_(
        params, _in_order(grads), moment1s, moment2s, moment2_maxs, steps, lr=lr, beta1=beta1, beta2=beta2,
        weight_decay=weight_decay, eps=epsilon, amsgrad=amsgrad, maximize=False,
    )  # fmt: skip
    return params


@op("adamw_", aliases=("adamw",))
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
    steps, rate, epsilon = _corrected(params, step, lr, beta1, beta2, epsilon)
    # The kernel multiplies decay by its rate, which holds the bias correction too.
    decay = weight_decay * lr / rate if rate else 0.0
    torch._fused_adamw_(
        params, _in_order(grads), moment1s, moment2s, moment2_maxs, steps, lr=rate, beta1=beta1, beta2=beta2,
        weight_decay=decay, eps=epsilon, amsgrad=amsgrad, maximize=False,
    )  # fmt: skip
    return params


@op("adamax_", aliases=("adamax",))
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
    _decay_average_(moments, grads, beta1)
    torch._foreach_mul_(inf_norms, beta2)
    torch._foreach_add_(inf_norms, epsilon)
    torch._foreach_maximum_(inf_norms, torch._foreach_abs(grads))
    torch._foreach_addcdiv_(params, moments, inf_norms, -lr / correction)
    return params


_FIRST = torch.ones(())  # the step count that leaves torch's fused Adagrad without decay of the rate


@op("adagrad_", aliases=("adagrad",))
def adagrad_(
    params: Tensors, grads: Tensors, moments: Tensors, lr: float, epsilon: float, weight_decay: float = 0.0
) -> Tensors:
    """``weight_decay`` is coupled (added to the gradient)."""
    if params[0].is_cpu:
        torch._fused_adagrad_(
            params, _in_order(grads), moments, [_FIRST] * len(params), lr=lr, lr_decay=0.0, weight_decay=weight_decay,
            eps=epsilon, maximize=False,
        )  # fmt: skip
        return params
    if weight_decay:
        grads = list(torch._foreach_add(grads, params, alpha=weight_decay))
    torch._foreach_addcmul_(moments, grads, grads, 1.0)
    scale = torch._foreach_sqrt(moments)
    torch._foreach_add_(scale, epsilon)
    torch._foreach_addcdiv_(params, grads, scale, -lr)
    return params


@op("rmsprop_", aliases=("rmsprop",))
def rmsprop_(
    params: Tensors,
    grads: Tensors,
    momentums: Tensors,
    mean_squares: Tensors,
    mean_grads: Tensors,
    lr: float,
    rho: float,
    epsilon: float,
    momentum: float = 0.0,
    centered: bool = False,
) -> Tensors:
    """``epsilon`` is inside the root; ``mean_grads`` change only when ``centered``."""
    rho = single(rho)
    _decay_average_square_(mean_squares, grads, rho)
    if centered:
        _decay_average_(mean_grads, grads, rho)
        scale = torch._foreach_addcmul(mean_squares, mean_grads, mean_grads, -1.0)
        torch._foreach_add_(scale, epsilon)
    else:
        scale = torch._foreach_add(mean_squares, epsilon)
    torch._foreach_sqrt_(scale)
    torch._foreach_mul_(momentums, momentum)
    torch._foreach_addcdiv_(momentums, grads, scale, lr)
    torch._foreach_sub_(params, momentums)
    return params


@op("adadelta_", aliases=("adadelta",))
def adadelta_(
    params: Tensors,
    grads: Tensors,
    avg_squared_grads: Tensors,
    avg_squared_updates: Tensors,
    lr: float,
    rho: float,
    epsilon: float,
) -> Tensors:
    rho = single(rho)
    _decay_average_square_(avg_squared_grads, grads, rho)
    ratio = torch._foreach_add(avg_squared_updates, epsilon)
    torch._foreach_div_(ratio, torch._foreach_add(avg_squared_grads, epsilon))
    torch._foreach_sqrt_(ratio)
    torch._foreach_mul_(ratio, grads)
    _decay_average_square_(avg_squared_updates, list(ratio), rho)
    torch._foreach_add_(params, ratio, alpha=-lr)
    return params


@op("lamb_", aliases=("lamb",))
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
) -> Tensors:
    """Adam's direction plus decay, its rate scaled per tensor by ‖param‖ / ‖direction‖ (where there is decay)."""
    beta1, beta2 = single(beta1), single(beta2)
    step.add_(1.0)
    count, dtype = step.item(), params[0].dtype
    _decay_average_(moment1s, grads, beta1)
    _decay_average_square_(moment2s, grads, beta2)
    scale = torch._foreach_div(moment2s, 1.0 - power(beta2, count, dtype))
    torch._foreach_sqrt_(scale)
    torch._foreach_add_(scale, epsilon)
    directions = torch._foreach_div(moment1s, 1.0 - power(beta1, count, dtype))
    torch._foreach_div_(directions, scale)
    torch._foreach_add_(directions, params, alpha=weight_decay)
    if weight_decay > 0.0 or always_adapt:
        norms = zip(torch._foreach_norm(params), torch._foreach_norm(directions), strict=True)
        torch._foreach_mul_(directions, [torch.where((p > 0) & (d > 0), p / d, 1.0) for p, d in norms])
    torch._foreach_add_(params, directions, alpha=-lr)
    return params


@op("nadam_", aliases=("nadam",))
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
    """The first three states hold one number each, spread over the parameter's shape as Paddle stores them."""
    beta1, beta2 = single(beta1), single(beta2)
    torch._foreach_mul_(momentum_decay_pows, single(0.96))
    torch._foreach_mul_(beta2_pows, beta2)
    _decay_average_(moment1s, grads, beta1)
    _decay_average_square_(moment2s, grads, beta2)
    for p, g, decay, beta2_pow, product, m, v in zip(
        params, grads, momentum_decay_pows, beta2_pows, mu_products, moment1s, moment2s, strict=True
    ):
        now = beta1 * (1.0 - 0.5 * decay**momentum_decay)
        following = beta1 * (1.0 - 0.5 * decay**momentum_decay * 0.96**momentum_decay)
        product.mul_(now)
        mean = following * m / (1.0 - product * following) + (1.0 - now) * g / (1.0 - product)
        p.sub_(lr * mean / ((v / (1.0 - beta2_pow)).sqrt_() + epsilon))
    return params


@op("radam_", aliases=("radam",))
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
    """The first three states hold one number each, spread over the parameter's shape as Paddle stores them."""
    beta1, beta2 = single(beta1), single(beta2)
    rho_inf = 2.0 / (1.0 - beta2) - 1.0
    torch._foreach_mul_(beta1_pows, beta1)
    torch._foreach_mul_(beta2_pows, beta2)
    _decay_average_(moment1s, grads, beta1)
    _decay_average_square_(moment2s, grads, beta2)
    for p, beta1_pow, beta2_pow, rho, m, v in zip(
        params, beta1_pows, beta2_pows, rhos, moment1s, moment2s, strict=True
    ):
        rho.copy_((rho * (beta2 - beta2_pow) + beta2_pow) / (1.0 - beta2_pow))
        length = rho_inf - 2.0 * rho.view(-1)[0]
        rectified = ((length - 4.0) * (length - 2.0) * rho_inf / ((rho_inf - 4.0) * (rho_inf - 2.0) * length)).sqrt()
        adapted = rectified * (1.0 - beta2_pow).sqrt() / (v.sqrt() + epsilon)
        p.sub_(lr * m / (1.0 - beta1_pow) * torch.where(length > 5.0, adapted, 1.0))
    return params


@op("asgd_", aliases=("asgd",))
def asgd_(params: Tensors, grads: Tensors, sums: Tensors, histories: Tensors, counts: Tensors, lr: float) -> Tensors:
    """Step along the mean of the latest gradients; ``histories`` keeps them (first axis), ``sums`` their sum."""
    for p, g, total, history, count in zip(params, grads, sums, histories, counts, strict=True):
        size = history.shape[0]
        slot = history[int(count) % size]
        count.add_(1)
        total.add_(g - slot)
        slot.copy_(g)
        p.sub_(total * (lr / min(int(count), size)))
    return params


@op("rprop_", aliases=("rprop",))
def rprop_(
    params: Tensors,
    grads: Tensors,
    prevs: Tensors,
    rates: Tensors,
    lr_min: float,
    lr_max: float,
    eta_minus: float,
    eta_plus: float,
) -> Tensors:
    """Grow or shrink each element's own rate as its gradient keeps or changes sign; only the sign sets the direction."""
    for p, g, prev, rate in zip(params, grads, prevs, rates, strict=True):
        agreement = g * prev
        factor = torch.where(agreement > 0, eta_plus, torch.where(agreement < 0, eta_minus, 1.0))
        g = torch.where(agreement < 0, 0.0, g)
        rate.mul_(factor).clamp_(lr_min, lr_max)
        p.sub_(g.sign() * rate)
        prev.copy_(g)
    return params
