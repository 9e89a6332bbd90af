"""Boxes: which of them stay, and boxes relative to others."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.detection.overlap import best_first, center_size, overlap
from argosy.ops.table import op
from argosy.ops.traits import Rows


@op("nms", rows=Rows.OTHER, types=("nms(Boxes, iou_threshold) -> KeepBoxesIdxs",))
def nms(boxes: Tensor, iou_threshold: float) -> Tensor:
    """Positions of the boxes that stay, the best of which come first."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise UsageError(f"nms: the shape of boxes must be (N, 4), but is {list(boxes.shape)}")
    return best_first(boxes.detach(), iou_threshold)


@op("scored_nms", rows=Rows.OTHER)
def scored_nms(
    boxes: Tensor,
    scores: Tensor,
    category_idxs: Tensor | None,
    categories: list[int] | None,
    iou_threshold: float,
    top_k: int | None,
) -> Tensor:
    """Positions of the boxes that stay, by falling score; boxes of different categories do not
    compete.
    """
    order = scores.detach().argsort(descending=True, stable=True)
    if category_idxs is None or categories is None:
        return order[nms(boxes[order], iou_threshold)]
    stays = torch.zeros_like(order, dtype=torch.bool)
    for category in categories:
        own = (category_idxs[order] == category).nonzero().flatten()
        stays[own[nms(boxes[order[own]], iou_threshold)]] = True
    return order[stays][:top_k]


@op(
    "matrix_nms",
    rows=Rows.OTHER,
    types=("matrix_nms(BBoxes, Scores) -> Out, Index, RoisNum",),
)
def matrix_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    post_threshold: float,
    use_gaussian: bool,
    gaussian_sigma: float,
    background_label: int,
    normalized: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """(class, score, box) of what stays, when scores fall with the overlap to better boxes; its
    positions among all boxes, and how many there are of each image.
    """
    bboxes, scores = bboxes.detach(), scores.detach()
    num_boxes = bboxes.shape[1]
    rows, places, counts = [], [], []
    for i, (own, own_scores) in enumerate(zip(bboxes, scores, strict=True)):
        found = [
            _decayed(
                own,
                kind,
                c,
                score_threshold,
                nms_top_k,
                post_threshold,
                gaussian_sigma if use_gaussian else None,
                normalized,
            )
            for c, kind in enumerate(own_scores)
            if c != background_label
        ]
        index = torch.cat([part[0] for part in found] or [bboxes.new_zeros(0).long()])
        table = torch.cat([part[1] for part in found] or [bboxes.new_zeros(0, 2)])
        best = table[:, 1].argsort(descending=True, stable=True)
        best = best[:keep_top_k] if keep_top_k > -1 else best
        rows.append(torch.cat([table[best], own[index[best]]], 1))
        places.append(index[best] + i * num_boxes)
        counts.append(len(best))
    numbers = torch.tensor(counts, dtype=torch.int32, device=bboxes.device)
    return torch.cat(rows), torch.cat(places).int()[:, None], numbers


def _decayed(
    boxes: Tensor,
    scores: Tensor,
    label: int,
    score_threshold: float,
    top_k: int,
    post_threshold: float,
    sigma: float | None,
    normalized: bool,
) -> tuple[Tensor, Tensor]:
    """Positions of the boxes of one class that stay, and (class, score) of each."""
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] > score_threshold]
    order = order[:top_k] if top_k > -1 else order
    ranked = boxes[order]
    n = len(order)
    found = overlap(ranked[:, None], ranked[None], 0.0 if normalized else 1.0).tril(-1)
    most = found.amax(1) if n else found.new_zeros(0)  # with a better one
    if sigma is None:
        decay = (1 - found) / (1 - most)
    else:
        decay = ((most**2 - found**2) * sigma).exp()
    is_better = torch.ones(n, n, dtype=torch.bool, device=boxes.device).tril(-1)
    decay = torch.where(is_better & ~decay.isnan(), decay, torch.ones_like(decay))
    lowered = scores[order] * (decay.amin(1).clamp(max=1) if n else decay.new_zeros(0))
    stays = lowered > post_threshold
    kind = torch.full_like(lowered, label)
    return order[stays], torch.stack([kind, lowered], 1)[stays]


@op(
    "box_coder",
    rows=Rows.OTHER,
    types=("box_coder(PriorBox, PriorBoxVar, TargetBox) -> OutputBox",),
)
def box_coder(
    prior_box: Tensor,
    prior_box_var: Tensor | None,
    target_box: Tensor,
    code_type: str,
    box_normalized: bool,
    axis: int,
    variance: list[float],
) -> Tensor:
    """Targets relative to priors, each to each; or boxes out of such, priors along ``axis``."""
    edge = 0.0 if box_normalized else 1.0
    if prior_box_var is None:
        scale = prior_box.new_tensor(variance or [1.0] * 4)
    else:
        scale = prior_box_var
    center, size = center_size(prior_box, edge)
    if code_type == "encode_center_size":
        targets = target_box[:, None]
        middle = (targets[..., :2] + targets[..., 2:]) / 2
        ratio = (targets[..., 2:] - targets[..., :2] + edge) / size
        return torch.cat([(middle - center) / size, ratio.abs().log()], -1) / scale
    if axis == 1:
        center, size = center[:, None], size[:, None]
        scale = scale[:, None] if scale.ndim == 2 else scale
    coded = scale * target_box
    middle = coded[..., :2] * size + center
    half = coded[..., 2:].exp() * size / 2
    return torch.cat([middle - half, middle + half - edge], -1)
