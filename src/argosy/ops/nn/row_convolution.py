"""Lookahead convolution over time."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.table import op


@op("row_conv", types=("row_conv(X, Filter)",))
def row_conv(x: Tensor, weight: Tensor) -> Tensor:
    """Sum of ``x[:, t + i] * weight[i]`` for ``x`` [batch, time, width] and ``weight`` [context,
    width]; zeros follow the end.
    """
    context = weight.shape[0]
    padded = torch.nn.functional.pad(x, (0, 0, 0, context - 1))
    steps = x.shape[1]
    out = padded[:, :steps] * weight[0]
    for i in range(1, context):
        out = out + padded[:, i : i + steps] * weight[i]
    return out
