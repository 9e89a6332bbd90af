"""Loss scaling for float16 training: bring scaled gradients back and notice overflow."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.table import op


@op("check_finite_and_unscale_", aliases=("check_finite_and_unscale",))
def check_finite_and_unscale_(grads: list[Tensor], scale: Tensor) -> Tensor:
    """Divide gradients by ``scale`` in place; return whether any was infinite or NaN, a bool tensor of shape [1]."""
    found = torch.zeros((1,), dtype=torch.float32, device=scale.device)
    inverse = scale.reciprocal()
    for dtype in {g.dtype for g in grads}:
        torch._amp_foreach_non_finite_check_and_unscale_([g for g in grads if g.dtype is dtype], found, inverse)
    return found > 0
