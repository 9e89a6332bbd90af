"""Linear algebra."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.table import op


@op("linear")
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight + bias`` with weight laid out [in, out]."""
    if bias is None:
        return torch.matmul(x, weight)
    if x.ndim == 2:
        return torch.addmm(bias, x, weight)
    return torch.matmul(x, weight) + bias
