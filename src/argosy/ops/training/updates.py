"""Parameter updates: one step of each optimizer as a multi-tensor op that works in place.

Every op takes lists that run in parallel (parameters, gradients, then its state) and plain
hyper-parameters, overwrites parameters and state, leaves gradients alone and returns the
parameters. The tensors of one call share dtype and device; parameters and state are contiguous. The
Adam family is in ``adam_updates``, updates of single rows in ``row_updates``.

Hyper-parameters are rounded to float32 where Paddle's kernels do: with 0.999, the factor ``1 -
0.999`` otherwise differs in the fifth digit.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.ops.table import op
from argosy.ops.traits import Precision

Tensors = list[Tensor]


@functools.lru_cache(maxsize=256)
def single(value: float) -> float:
    """Round to float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def rounded(value: float, dtype: torch.dtype) -> float:
    """Round a hyper-parameter as Paddle's kernels for parameters of ``dtype`` do."""
    return value if dtype is torch.float64 else single(value)


def in_order(grads: Tensors) -> Tensors:
    """Gradients in contiguous memory: the fused kernels walk raw memory and take no notice of
    strides.
    """
    for g in grads:
        if not g.is_contiguous():
            return [g.contiguous() for g in grads]
    return grads


# Elements from which torch itself shares an element-wise operation among threads.
_PARALLEL_FROM = 32768


def by_size(
    fused: Callable[..., None],
    plain: Callable[..., None],
    params: Tensors,
    grads: Tensors,
    *state: Tensors,
) -> None:
    """Update with ``fused``, a call of one of torch's fused kernels, but small tensors with
    ``plain``, the same as foreach operations.

    On the CPU the fused kernels share even ten elements among all threads, and beside a busy
    process waiting for the last thread takes milliseconds: a training step of a small model took 8
    ms instead of 0.3. The lists run in parallel; unused ones are empty.
    """
    lists = (params, in_order(grads), *state)
    if torch.get_num_threads() == 1 or not params[0].is_cpu:
        fused(*lists)
        return
    large = [i for i, p in enumerate(params) if p.numel() >= _PARALLEL_FROM]
    if len(large) == len(params):
        fused(*lists)
    elif not large:
        plain(*lists)
    else:
        small = [i for i, p in enumerate(params) if p.numel() < _PARALLEL_FROM]
        fused(*[[items[i] for i in large] if items else items for items in lists])
        plain(*[[items[i] for i in small] if items else items for items in lists])


def decay_average_(averages: Tensors, values: Tensors, keep: float) -> None:
    """averages = keep * averages + (1 - keep) * values"""
    private.foreach_mul_(averages, keep)
    private.foreach_add_(averages, values, alpha=1.0 - keep)


def decay_average_square_(averages: Tensors, values: Tensors, keep: float) -> None:
    """averages = keep * averages + (1 - keep) * values²"""
    private.foreach_mul_(averages, keep)
    private.foreach_addcmul_(averages, values, values, 1.0 - keep)


@op("l2_decay")
def l2_decay(grads: Tensors, params: Tensors, coeff: float) -> Tensors:
    """Gradients with the gradient of ½·coeff·‖params‖² added."""
    return list(private.foreach_add(grads, params, alpha=coeff))


@op("l1_decay")
def l1_decay(grads: Tensors, params: Tensors, coeff: float) -> Tensors:
    """Gradients with the gradient of coeff·|params| added."""
    return list(private.foreach_add(grads, private.foreach_sign(params), alpha=coeff))


@op("overwrite_", mutates=("targets",))
def overwrite_(targets: Tensors, values: Tensors) -> Tensors:
    """Give ``targets`` the values of others, in their own dtype."""
    private.foreach_copy_(targets, values)
    return targets


@op("widened", precision=Precision.UNTOUCHED)
def widened(tensors: Tensors) -> Tensors:
    """Float32 copies of low-precision parameters or gradients, to update with."""
    return [t.to(torch.float32) for t in tensors]


@op("accumulate_", mutates=("sums",))
def accumulate_(sums: Tensors, values: Tensors) -> Tensors:
    private.foreach_add_(sums, [v.to(s.dtype) for s, v in zip(sums, values, strict=True)])
    return sums


@op("clear_", mutates=("tensors",))
def clear_(tensors: Tensors) -> Tensors:
    private.foreach_zero_(tensors)
    return tensors


@op("scale_all_", mutates=("tensors",))
def scale_all_(tensors: Tensors, factor: float) -> Tensors:
    private.foreach_mul_(tensors, factor)
    return tensors


@op("count_to_", mutates=("step",))
def count_to_(step: Tensor, limit: int) -> Tensor:
    """Count in place, from ``limit`` back to zero; return whether that happened, a bool tensor of
    shape [1].
    """
    step.add_(1).remainder_(limit)
    return (step == 0).reshape(1)


@op("sgd_", types=("sgd",), mutates=("params",), is_fused=True)
def sgd_(params: Tensors, grads: Tensors, lr: float, weight_decay: float = 0.0) -> Tensors:
    def fused(params: Tensors, grads: Tensors) -> None:
        private.fused_sgd_(
            params, grads, [], weight_decay=weight_decay, momentum=0.0, lr=lr, dampening=0.0,
            nesterov=False,
            maximize=False, is_first_step=False,
        )  # fmt: skip

    def plain(params: Tensors, grads: Tensors) -> None:
        if weight_decay:
            grads = list(private.foreach_add(grads, params, alpha=weight_decay))
        private.foreach_add_(params, grads, alpha=-lr)

    by_size(fused, plain, params, grads)
    return params


@op(
    "momentum_",
    types=("momentum", "merged_momentum"),
    mutates=("params", "velocities"),
    is_fused=True,
)
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
        grads = list(private.foreach_mul(grads, rescale_grad))
    if mu == 0.0:
        # The fused kernel leaves the velocity alone here, Paddle's stores the gradient in it.
        if weight_decay:
            grads = list(private.foreach_add(grads, params, alpha=weight_decay))
        private.foreach_copy_(velocities, grads)
        private.foreach_add_(params, grads, alpha=-lr)
        return params

    def fused(params: Tensors, grads: Tensors, velocities: Tensors) -> None:
        private.fused_sgd_(
            params, grads, velocities, weight_decay=weight_decay, momentum=mu, lr=lr, dampening=0.0,
            nesterov=use_nesterov, maximize=False, is_first_step=False,
        )  # fmt: skip

    def plain(params: Tensors, grads: Tensors, velocities: Tensors) -> None:
        if weight_decay:
            grads = list(private.foreach_add(grads, params, alpha=weight_decay))
        private.foreach_mul_(velocities, mu)
        private.foreach_add_(velocities, grads)
        if use_nesterov:
            private.foreach_add_(
                params, private.foreach_add(grads, velocities, alpha=mu), alpha=-lr
            )
        else:
            private.foreach_add_(params, velocities, alpha=-lr)

    by_size(fused, plain, params, grads, velocities)
    return params


@op("lars_momentum_", types=("lars_momentum",), mutates=("params", "velocities"))
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
    """Momentum whose rate is scaled, per tensor, by ‖param‖ / (‖grad‖ + decay·‖param‖); without
    decay, plain momentum.
    """
    if rescale_grad != 1.0:
        grads = list(private.foreach_mul(grads, rescale_grad))
    private.foreach_mul_(velocities, mu)
    if lars_weight_decay > 0.0:
        param_norms = private.foreach_norm(params)
        grad_norms = private.foreach_norm(grads)
        moves = private.foreach_add(grads, params, alpha=lars_weight_decay)
        for move, p, g in zip(moves, param_norms, grad_norms, strict=True):
            rate = lr * lars_coeff * p / (g + lars_weight_decay * p + epsilon)
            move.mul_(torch.where((p > 0) & (g > 0), rate, lr))
        private.foreach_add_(velocities, moves)
    else:
        private.foreach_add_(velocities, grads, alpha=lr)
    private.foreach_sub_(params, velocities)
    return params


# the step count that leaves torch's fused Adagrad without decay of the rate
_FIRST = torch.ones(())


@op("adagrad_", types=("adagrad",), mutates=("params", "moments"), is_fused=True)
def adagrad_(
    params: Tensors,
    grads: Tensors,
    moments: Tensors,
    lr: float,
    epsilon: float,
    weight_decay: float = 0.0,
) -> Tensors:
    """``weight_decay`` is coupled (added to the gradient)."""

    def fused(params: Tensors, grads: Tensors, moments: Tensors) -> None:
        private.fused_adagrad_(
            params, grads, moments, [_FIRST] * len(params), lr=lr, lr_decay=0.0,
            weight_decay=weight_decay, eps=epsilon,
            maximize=False,
        )  # fmt: skip

    def plain(params: Tensors, grads: Tensors, moments: Tensors) -> None:
        if weight_decay:
            grads = list(private.foreach_add(grads, params, alpha=weight_decay))
        private.foreach_addcmul_(moments, grads, grads, 1.0)
        scale = private.foreach_sqrt(moments)
        private.foreach_add_(scale, epsilon)
        private.foreach_addcdiv_(params, grads, scale, -lr)

    # torch has the fused kernel for the CPU only
    by_size(fused if params[0].is_cpu else plain, plain, params, grads, moments)
    return params


@op("rmsprop_", types=("rmsprop",), mutates=("params", "momentums", "mean_squares", "mean_grads"))
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
    decay_average_square_(mean_squares, grads, rho)
    if centered:
        decay_average_(mean_grads, grads, rho)
        scale = private.foreach_addcmul(mean_squares, mean_grads, mean_grads, -1.0)
        private.foreach_add_(scale, epsilon)
    else:
        scale = private.foreach_add(mean_squares, epsilon)
    private.foreach_sqrt_(scale)
    private.foreach_mul_(momentums, momentum)
    private.foreach_addcdiv_(momentums, grads, scale, lr)
    private.foreach_sub_(params, momentums)
    return params


@op(
    "adadelta_", types=("adadelta",), mutates=("params", "avg_squared_grads", "avg_squared_updates")
)
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
    decay_average_square_(avg_squared_grads, grads, rho)
    ratio = private.foreach_add(avg_squared_updates, epsilon)
    private.foreach_div_(ratio, private.foreach_add(avg_squared_grads, epsilon))
    private.foreach_sqrt_(ratio)
    private.foreach_mul_(ratio, grads)
    decay_average_square_(avg_squared_updates, list(ratio), rho)
    private.foreach_add_(params, ratio, alpha=-lr)
    return params


@op("asgd_", types=("asgd",), mutates=("params", "sums", "histories", "counts"))
def asgd_(
    params: Tensors, grads: Tensors, sums: Tensors, histories: Tensors, counts: Tensors, lr: float
) -> Tensors:
    """Step along the mean of the latest gradients; ``histories`` keeps them (first axis), ``sums``
    their sum.
    """
    for p, g, total, history, count in zip(params, grads, sums, histories, counts, strict=True):
        size = history.shape[0]
        slot = history[int(count) % size]
        count.add_(1)
        total.add_(g - slot)
        slot.copy_(g)
        p.sub_(total * (lr / min(int(count), size)))
    return params


@op("rprop_", types=("rprop",), mutates=("params", "prevs", "rates"))
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
    """Grow or shrink each element's own rate as its gradient keeps or changes sign; only the sign
    sets the direction.
    """
    for p, g, prev, rate in zip(params, grads, prevs, rates, strict=True):
        agreement = g * prev
        factor = torch.where(agreement > 0, eta_plus, torch.where(agreement < 0, eta_minus, 1.0))
        g = torch.where(agreement < 0, 0.0, g)
        rate.mul_(factor).clamp_(lr_min, lr_max)
        p.sub_(g.sign() * rate)
        prev.copy_(g)
    return params
