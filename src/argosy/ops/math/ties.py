"""Whose gradient it is where two values are equal: that of the first, and of what lies on a bound,
as in Paddle and in torch 2.13. torch 2.15 halves it or drops it, so from 2.14 on the choice is
spelled out.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def larger(x: Tensor, y: Tensor) -> Tensor:
    """The larger of both, a number before a NaN."""
    return torch.where((x >= y) | y.isnan(), x, y)


def smaller(x: Tensor, y: Tensor) -> Tensor:
    """The smaller of both, a number before a NaN."""
    return torch.where((x <= y) | y.isnan(), x, y)


def limited(x: Tensor, min: Any, max: Any) -> Tensor:
    """``x`` within bounds; the gradient passes where nothing had to be changed."""
    found = torch.clamp(x.detach(), min, max)
    return torch.where(found == x, x, found) if x.requires_grad else found


_IS_TORCHS = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 14)
fmax = torch.fmax if _IS_TORCHS else larger
fmin = torch.fmin if _IS_TORCHS else smaller
clamp = torch.clamp if _IS_TORCHS else limited
