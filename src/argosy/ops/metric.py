"""What metrics compute on the device before they count on the host."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.table import op


@op("accuracy")
def accuracy(input: Tensor, label: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Share of rows whose label is among the ``k`` largest, the number of those rows (int32), and of all (int32)."""
    hits = (torch.topk(input, k, dim=-1).indices == label.to(torch.int64)).any(dim=-1)
    correct = hits.sum(dtype=torch.int32)
    total = torch.full((), hits.numel(), dtype=torch.int32, device=input.device)
    return correct.to(torch.float32) / total, correct, total


@op("topk_hits")
def topk_hits(pred: Tensor, label: Tensor, k: int) -> Tensor:
    """1.0 where one of the ``k`` largest classes, largest first, is the label; equal scores count from the first."""
    order = torch.argsort(pred, dim=-1, descending=True, stable=True)[..., :k]
    if label.ndim == 1 or (label.ndim == 2 and label.shape[-1] == 1):
        label = label.reshape(-1, 1)
    elif label.shape[-1] != 1:
        label = label.argmax(dim=-1, keepdim=True)
    return (order == label.to(torch.int64)).to(torch.float32)
