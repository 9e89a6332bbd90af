"""Updates of the Adam family: rules that correct moving averages for their start at zero.

As in ``updates``, ops work in place on parallel lists. ``beta1_pows`` and ``beta2_pows`` hold, for
each parameter, the decay rate to the power of the next step, in a tensor of one element; the op
multiplies it by the rate. Parameters whose powers are equal may have one tensor in common: it
stands in the list for each of them, or once for all.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import torch_private as private
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


Update = Callable[..., None]


def by_powers(
    update: Update,
    pows: tuple[Tensors, ...],
    betas: tuple[float, ...],
    lists: tuple[Tensors, ...],
    *settings: Any,
) -> None:
    """Call ``update(powers, *lists, *settings)`` with the parameters whose powers are equal, then
    move the powers on by a step. The lists run in parallel; unused ones are empty.
    """
    for own in pows:
        if len(own) > 1 and len(set(map(id, own))) > 1:
            _by_single_powers(update, pows, betas, lists, *settings)
            return
    powers = [own[0].item() for own in pows]
    update(powers, *lists, *settings)
    for i, own in enumerate(pows):
        own[0].fill_(powers[i] * betas[i])  # as exact as mul_, at half its cost


def _by_single_powers(
    update: Update,
    pows: tuple[Tensors, ...],
    betas: tuple[float, ...],
    lists: tuple[Tensors, ...],
    *settings: Any,
) -> None:
    alike: dict[tuple[float, ...], list[int]] = {}
    for index, one in enumerate(zip(*pows, strict=True)):
        alike.setdefault(tuple(t.item() for t in one), []).append(index)
    for powers, members in alike.items():
        chosen = [[own[i] for i in members] if own else own for own in lists]
        update(list(powers), *chosen, *settings)
    for own, beta in zip(pows, betas, strict=True):
        for tensor in {id(t): t for t in own}.values():
            tensor.mul_(beta)


# A step count that leaves torch's fused Adam nothing to correct.
_LATE = torch.full((), 1e9)


def _late(params: Tensors) -> Tensors:
    late = _LATE if params[0].is_cpu else _LATE.to(params[0].device)
    return [late] * len(params)


def _corrected(
    powers: list[float], lr: float, epsilon: float, plain_epsilon: bool = False
) -> tuple[float, float]:
    """The rate and the epsilon with which an Adam that corrects nothing computes what Paddle
    does.
    """
    power1, power2 = powers
    root = math.sqrt(1.0 - power2)
    return lr * root / (1.0 - power1), epsilon if plain_epsilon else epsilon * root


def _ahead(powers: list[float], beta1: float, beta2: float, lead: float) -> list[float]:
    """The powers ``lead`` steps later."""
    return [powers[0] * beta1**lead, powers[1] * beta2**lead]


@op(
    "adam_",
    types=("adam", "merged_adam"),
    mutates=("params", "moment1s", "moment2s", "moment2_maxs", "beta1_pows", "beta2_pows"),
    alike=("beta1_pows", "beta2_pows"),
    is_fused=True,
)
def adam_(
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
    amsgrad: bool = False,
    plain_epsilon: bool = False,
    lead: float = 0.0,
) -> Tensors:
    """``weight_decay`` is coupled (added to the gradient); ``moment2_maxs`` is empty unless
    ``amsgrad``.

    ``plain_epsilon`` is added to the root of the second moment as it is, else to the root corrected
    for its start from zero. The correction is ``lead`` steps ahead of the powers.
    """
    dtype = params[0].dtype
    betas = beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    by_powers(
        _adam, (beta1_pows, beta2_pows), betas,
        (params, grads, moment1s, moment2s, moment2_maxs),
        lr, beta1, beta2, epsilon, weight_decay, amsgrad, plain_epsilon, lead,
    )  # fmt: skip
    return params


def _adam(
    powers: list[float],
    params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, moment2_maxs: Tensors,
    lr: float, beta1: float, beta2: float, epsilon: float,
    weight_decay: float, amsgrad: bool, plain_epsilon: bool, lead: float,
) -> None:  # fmt: skip
    if lead:
        powers = _ahead(powers, beta1, beta2, lead)
    lr, epsilon = _corrected(powers, lr, epsilon, plain_epsilon)

    def fused(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        private.fused_adam_(
            params, grads, moment1s, moment2s, maxs, _late(params),
            lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, eps=epsilon,
            amsgrad=amsgrad, maximize=False,
        )  # fmt: skip

    def plain(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        if weight_decay:
            grads = list(private.foreach_add(grads, params, alpha=weight_decay))
        _move(params, grads, moment1s, moment2s, maxs, lr, beta1, beta2, epsilon)

    by_size(fused, plain, params, grads, moment1s, moment2s, moment2_maxs)


def _move(
    params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors,
    lr: float, beta1: float, beta2: float, epsilon: float,
) -> None:  # fmt: skip
    """A step of Adam as foreach operations, after ``_corrected``."""
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)
    if maxs:
        private.foreach_maximum_(maxs, moment2s)
    scale = private.foreach_sqrt(maxs or moment2s)
    private.foreach_add_(scale, epsilon)
    private.foreach_addcdiv_(params, moment1s, scale, -lr)


@op(
    "adamw_",
    types=("adamw",),
    mutates=("params", "moment1s", "moment2s", "moment2_maxs", "beta1_pows", "beta2_pows"),
    alike=("beta1_pows", "beta2_pows"),
    is_fused=True,
)
def adamw_(
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
    amsgrad: bool = False,
    lead: float = 0.0,
) -> Tensors:
    """Adam that first shrinks the parameters by the factor 1 - lr·weight_decay."""
    dtype = params[0].dtype
    betas = beta1, beta2 = rounded(beta1, dtype), rounded(beta2, dtype)
    by_powers(
        _adamw, (beta1_pows, beta2_pows), betas,
        (params, grads, moment1s, moment2s, moment2_maxs),
        lr, beta1, beta2, epsilon, weight_decay, amsgrad, lead,
    )  # fmt: skip
    return params


def _adamw(
    powers: list[float],
    params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, moment2_maxs: Tensors,
    lr: float, beta1: float, beta2: float, epsilon: float,
    weight_decay: float, amsgrad: bool, lead: float,
) -> None:  # fmt: skip
    if lead:
        powers = _ahead(powers, beta1, beta2, lead)
    rate, epsilon = _corrected(powers, lr, epsilon)
    # The kernel multiplies decay by its rate, which holds the bias correction too.
    decay = weight_decay * lr / rate if rate else 0.0

    def fused(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        private.fused_adamw_(
            params, grads, moment1s, moment2s, maxs, _late(params),
            lr=rate, beta1=beta1, beta2=beta2, weight_decay=decay, eps=epsilon, amsgrad=amsgrad,
            maximize=False,
        )  # fmt: skip

    def plain(
        params: Tensors, grads: Tensors, moment1s: Tensors, moment2s: Tensors, maxs: Tensors
    ) -> None:
        private.foreach_mul_(params, 1.0 - lr * weight_decay)
        _move(params, grads, moment1s, moment2s, maxs, rate, beta1, beta2, epsilon)

    by_size(fused, plain, params, grads, moment1s, moment2s, moment2_maxs)


@op(
    "adamax_",
    types=("adamax",),
    mutates=("params", "moments", "inf_norms", "beta1_pows"),
    alike=("beta1_pows",),
)
def adamax_(
    params: Tensors,
    grads: Tensors,
    moments: Tensors,
    inf_norms: Tensors,
    beta1_pows: Tensors,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Tensors:
    """``epsilon`` is added to the decayed norm, before it is compared with the gradient."""
    beta = rounded(beta1, params[0].dtype)
    beta1, beta2 = single(beta1), single(beta2)
    decay_average_(moments, grads, beta1)
    private.foreach_mul_(inf_norms, beta2)
    private.foreach_add_(inf_norms, epsilon)
    private.foreach_maximum_(inf_norms, private.foreach_abs(grads))

    def update(powers: list[float], params: Tensors, moments: Tensors, inf_norms: Tensors) -> None:
        private.foreach_addcdiv_(params, moments, inf_norms, -lr / (1.0 - powers[0]))

    by_powers(update, (beta1_pows,), (beta,), (params, moments, inf_norms))
    return params


@op(
    "lamb_",
    types=("lamb",),
    mutates=("params", "moment1s", "moment2s", "beta1_pows", "beta2_pows"),
    alike=("beta1_pows", "beta2_pows"),
)
def lamb_(
    params: Tensors,
    grads: Tensors,
    moment1s: Tensors,
    moment2s: Tensors,
    beta1_pows: Tensors,
    beta2_pows: Tensors,
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
    zero, and the powers stay.
    """
    beta1, beta2 = single(beta1), single(beta2)
    decay_average_(moment1s, grads, beta1)
    decay_average_square_(moment2s, grads, beta2)

    def update(powers: list[float], params: Tensors, moment1s: Tensors, moment2s: Tensors) -> None:
        scale = private.foreach_div(moment2s, 1.0 - powers[1])
        private.foreach_sqrt_(scale)
        private.foreach_add_(scale, epsilon)
        directions = private.foreach_div(moment1s, 1.0 - powers[0])
        private.foreach_div_(directions, scale)
        private.foreach_add_(directions, params, alpha=weight_decay)
        if weight_decay > 0.0 or always_adapt:
            norms = zip(private.foreach_norm(params), private.foreach_norm(directions), strict=True)
            private.foreach_mul_(
                directions, [torch.where((p > 0) & (d > 0), p / d, 1.0) for p, d in norms]
            )
        private.foreach_add_(params, directions, alpha=-lr)

    if corrects:
        by_powers(update, (beta1_pows, beta2_pows), (beta1, beta2), (params, moment1s, moment2s))
    else:
        update([0.0, 0.0], params, moment1s, moment2s)
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
    private.foreach_mul_(momentum_decay_pows, single(0.96))
    private.foreach_mul_(beta2_pows, beta2)
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
    private.foreach_mul_(beta1_pows, beta1)
    private.foreach_mul_(beta2_pows, beta2)
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
