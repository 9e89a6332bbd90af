"""What metrics compute on the device before they count on the host."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops.array.search import topk
from argosy.ops.table import op
from argosy.ops.traits import Record, Rows


def _accuracy_parts(record: Record, input: Any, label: Any, k: int) -> Any:
    values, indices = record(topk, input, k)
    return record(accuracy_of_indices, values, indices, label)


@op("accuracy", rows=Rows.OTHER, layer="accuracy", parts=_accuracy_parts)
def accuracy(input: Tensor, label: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Share of rows whose label is among the ``k`` largest, the number of those rows (int32), and
    of all (int32).
    """
    return _share(torch.topk(input, k, dim=-1).indices, label)


@op(
    "accuracy_of_indices",
    rows=Rows.OTHER,
    types=("accuracy(Out, Indices, Label) -> Accuracy, Correct, Total",),
    layer="accuracy",
)
def accuracy_of_indices(
    values: Tensor, indices: Tensor, label: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of the largest values and where they are."""
    return _share(indices, label)


@op(
    "fluid_accuracy",
    rows=Rows.OTHER,
    fluid="accuracy(Out, Indices, Label) -> Accuracy, Correct, Total",
    layer="accuracy",
)
def fluid_accuracy(values: Tensor, indices: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As ``accuracy_of_indices``, of shape [1]."""
    share, correct, total = _share(indices, label)
    return share.reshape(1), correct.reshape(1), total.reshape(1)


def _share(indices: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    hits = (indices == label.to(torch.int64)).any(dim=-1)
    correct = hits.sum(dtype=torch.int32)
    total = torch.full((), hits.numel(), dtype=torch.int32, device=indices.device)
    return correct.to(torch.float32) / total, correct, total


@op("topk_hits")
def topk_hits(pred: Tensor, label: Tensor, k: int) -> Tensor:
    """1.0 where one of the ``k`` largest classes, largest first, is the label; equal scores count
    from the first.
    """
    order = torch.argsort(pred, dim=-1, descending=True, stable=True)[..., :k]
    if label.ndim == 1 or (label.ndim == 2 and label.shape[-1] == 1):
        label = label.reshape(-1, 1)
    elif label.shape[-1] != 1:
        label = label.argmax(dim=-1, keepdim=True)
    return (order == label.to(torch.int64)).to(torch.float32)


@op(
    "auc_",
    mutates=("positives", "negatives"),
    types=(
        "auc(Predict, Label, StatPos, StatNeg, slide_steps) -> AUC, StatPosOut=positives, "
        "StatNegOut=negatives",
    ),
)
def auc_(
    scores: Tensor, label: Tensor, positives: Tensor, negatives: Tensor, slides: bool
) -> Tensor:
    """Area under the ROC curve as a float64, from counts by score that the batch is first added to
    in place.

    The counts are [steps, buckets], one row per batch with the latest first when ``slides``, else
    one row for all. ``scores`` is [N, 1] or [N, 2], of which the last column counts.
    """
    buckets = positives.shape[1]
    index = (scores.detach()[:, -1] * (buckets - 1)).to(torch.int64)
    truth = label.reshape(-1).to(torch.int64)
    for counts, hits in ((positives, truth != 0), (negatives, truth == 0)):
        batch = torch.zeros(buckets, dtype=torch.int64, device=counts.device).scatter_add_(
            0, index, hits.to(torch.int64)
        )
        if slides:
            counts.copy_(torch.cat([batch.unsqueeze(0), counts[:-1]]))
        else:
            counts[0].add_(batch)
    return _area(positives.sum(0), negatives.sum(0))


def _area(positives: Tensor, negatives: Tensor) -> Tensor:
    """Trapezoids under true against false positives, from the highest score down; 0 while a class
    is missing.
    """
    true = positives.flip(0).cumsum(0).double()
    false = negatives.flip(0).cumsum(0).double()
    start = true.new_zeros(1)
    heights = true + torch.cat([start, true[:-1]])
    widths = false - torch.cat([start, false[:-1]])
    whole = true[-1] * false[-1]
    return torch.where(whole > 0, (heights * widths).sum() / 2.0 / whole, 0.0)
