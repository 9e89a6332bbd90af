"""Proposals of regions: which are worth a look, and at which level of a pyramid."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from argosy.ops.detection.overlap import area, best_first, center_size
from argosy.ops.table import op
from argosy.ops.traits import Rows

_LARGEST = math.log(1000.0 / 16.0)  # by which a proposal may outgrow its anchor


@op(
    "distribute_fpn_proposals",
    rows=Rows.OTHER,
    types=("distribute_fpn_proposals(FpnRois, RoisNum) -> MultiFpnRois*",),
)
def distribute_fpn_proposals(
    fpn_rois: Tensor,
    rois_num: Tensor,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool,
) -> list[Tensor]:
    """Regions by level, those of ``refer_scale`` at ``refer_level`` and twice as large ones a level
    higher; how many of each image are at each level; and where each region has gone.
    """
    rois = fpn_rois.detach()
    levels = range(min_level, max_level + 1)
    scale = area(rois, 1.0 if pixel_offset else 0.0).sqrt() / refer_scale
    level = ((scale + 1e-6).log2() + refer_level).floor().clamp(min_level, max_level)
    ends = rois_num.long().cumsum(0)
    image = torch.searchsorted(ends, torch.arange(len(rois), device=rois.device), right=True)
    own = [level == wanted for wanted in levels]
    num_images = len(rois_num)
    counts = [torch.bincount(image[mask], minlength=num_images)[:num_images].int() for mask in own]
    gone_to = level.argsort(stable=True).argsort().int()[:, None]
    return [*(rois[mask] for mask in own), *counts, gone_to]


@op(
    "generate_proposals",
    rows=Rows.OTHER,
    types=(
        "generate_proposals_v2(Scores, BboxDeltas, ImShape, Anchors, Variances, pre_nms_topN, "
        "post_nms_topN) -> RpnRois, RpnRoiProbs, RpnRoisNum",
    ),
)
def generate_proposals(
    scores: Tensor,
    bbox_deltas: Tensor,
    img_size: Tensor,
    anchors: Tensor,
    variances: Tensor,
    pre_nms_top_n: int,
    post_nms_top_n: int,
    nms_thresh: float,
    min_size: float,
    eta: float,
    pixel_offset: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes of the best scores, of which none overlaps a better one by much; their scores, and how
    many there are of each image.
    """
    edge = 1.0 if pixel_offset else 0.0
    rated = scores.detach().permute(0, 2, 3, 1).flatten(1)
    deltas = bbox_deltas.detach().permute(0, 2, 3, 1).reshape(len(scores), -1, 4)
    anchors, variances = anchors.detach().reshape(-1, 4), variances.detach().reshape(-1, 4)
    found_boxes, found_scores = [], []
    for own, moved, size in zip(rated, deltas, img_size.detach().to(rated.dtype), strict=True):
        order = own.argsort(descending=True, stable=True)
        order = order[:pre_nms_top_n] if pre_nms_top_n > 0 else order
        boxes = _moved(anchors[order], variances[order] * moved[order], edge)
        sides = size[:2].flip(0).repeat(2)
        boxes = torch.minimum(boxes, sides - edge).clamp(min=0)
        is_seen = _is_seen(boxes, max(min_size, 1.0), sides[:2], edge)
        boxes, kept_scores = boxes[is_seen], own[order][is_seen]
        if not len(boxes):  # an image without any has one, of zeros
            boxes, kept_scores = boxes.new_zeros(1, 4), own.new_zeros(1)
        elif nms_thresh > 0:
            stays = best_first(boxes, nms_thresh, eta, edge)
            stays = stays[:post_nms_top_n] if post_nms_top_n > 0 else stays
            boxes, kept_scores = boxes[stays], kept_scores[stays]
        found_boxes.append(boxes)
        found_scores.append(kept_scores[:, None])
    counts = torch.tensor([len(b) for b in found_boxes], dtype=torch.int32, device=scores.device)
    return torch.cat(found_boxes), torch.cat(found_scores), counts


def _moved(anchors: Tensor, deltas: Tensor, edge: float) -> Tensor:
    center, size = center_size(anchors, edge)
    middle = deltas[:, :2] * size + center
    half = deltas[:, 2:].clamp(max=_LARGEST).exp() * size / 2
    return torch.cat([middle - half, middle + half - edge], 1)


def _is_seen(boxes: Tensor, least: float, sides: Tensor, edge: float) -> Tensor:
    """Whether a box is large enough; where pixels are counted, also that its middle is inside."""
    center, size = center_size(boxes, edge)
    is_large = (size >= least).all(1)
    return is_large & (center <= sides).all(1) if edge else is_large
