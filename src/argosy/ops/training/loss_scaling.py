"""Loss scaling for float16 training: bring scaled gradients back and notice overflow."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.ops.table import op
from argosy.ops.traits import SparseGradients


@op("check_finite_and_unscale_", types=("check_finite_and_unscale",), mutates=("grads",))
def check_finite_and_unscale_(grads: list[Tensor], scale: Tensor) -> Tensor:
    """Divide gradients by ``scale`` in place; return whether any was infinite or NaN, a bool tensor
    of shape [1].
    """
    found = torch.zeros((1,), dtype=torch.float32, device=scale.device)
    inverse = scale.reciprocal()
    numbers = [private.stored(grad) for grad in grads]
    for dtype in {g.dtype for g in numbers}:
        private.amp_foreach_non_finite_check_and_unscale_(
            [g for g in numbers if g.dtype is dtype], found, inverse
        )
    return found > 0


@op("unscale_gradients", sparse_gradients=SparseGradients.TAKEN)
def unscale_gradients(grads: list[Tensor], scale: Tensor) -> tuple[list[Tensor], Tensor]:
    """Gradients divided by ``scale``, and whether any was infinite or NaN.

    Not in place: autograd may hand out one tensor as the gradient of several variables.
    """
    new = [g.clone() for g in grads]
    found: Tensor = check_finite_and_unscale_.fn(new, scale)
    return new, found


@op(
    "update_loss_scaling_",
    types=("update_loss_scaling",),
    mutates=("grads", "scale", "num_good_steps", "num_bad_steps"),
    sparse_gradients=SparseGradients.TAKEN,
)
def update_loss_scaling_(
    grads: list[Tensor],
    found_inf: Tensor,
    scale: Tensor,
    num_good_steps: Tensor,
    num_bad_steps: Tensor,
    incr_every_n_steps: int,
    decr_every_n_nan_or_inf: int,
    incr_ratio: float,
    decr_ratio: float,
) -> Tensor:
    """Adapt the scale, in place, to whether a gradient overflowed; if so, gradients become zero.

    It grows after so many good steps in a row, unless it would become infinite, and shrinks after
    so many bad ones, down to 1.
    """
    if bool(found_inf):
        private.foreach_zero_([private.stored(grad) for grad in grads])
        num_good_steps.zero_()
        num_bad_steps.add_(1)
        if int(num_bad_steps) == decr_every_n_nan_or_inf:
            scale.mul_(decr_ratio).clamp_(min=1.0)
            num_bad_steps.zero_()
        return scale
    num_bad_steps.zero_()
    num_good_steps.add_(1)
    if int(num_good_steps) == incr_every_n_steps:
        grown = scale * incr_ratio
        if bool(grown.isfinite()):
            scale.copy_(grown)
        num_good_steps.zero_()
    return scale
