"""What YOLO says of each cell of a grid, as boxes, and its loss.

The channels of a cell are, for each of its anchors: x, y, width, height, whether there is an
object, a score for each class. x and y are counted from the corner of the cell, width and height
are logarithms of factors for the anchor's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from argosy.ops.table import op
from argosy.ops.traits import Rows


@op("yolo_box", rows=Rows.OTHER, types=("yolo_box(X, ImgSize) -> Boxes, Scores",))
def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: list[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool,
    scale_x_y: float,
    iou_aware: bool,
    iou_aware_factor: float,
) -> tuple[Tensor, Tensor]:
    """Boxes [N, anchors * H * W, 4] in pixels and scores of classes; zeros where an object is less
    likely than ``conf_thresh``.
    """
    x = x.detach()
    n, _, height, width = x.shape
    num = len(anchors) // 2
    told, x = (x[:, :num], x[:, num:]) if iou_aware else (None, x)
    cells = x.reshape(n, num, 5 + class_num, height, width)
    sides = img_size.to(x.dtype).flip(1)[:, None, None, None]  # width, height
    center, size = _placed(cells, anchors, downsample_ratio, scale_x_y, (width, height))
    center, size = center * sides, size * sides
    sure = cells[:, :, 4].sigmoid()
    if told is not None:
        sure = sure ** (1.0 - iou_aware_factor) * told.sigmoid() ** iou_aware_factor
    boxes = torch.cat([center - size / 2, center + size / 2], -1)
    if clip_bbox:
        low, high = boxes.chunk(2, -1)
        boxes = torch.cat([low.clamp(min=0), torch.minimum(high, sides - 1)], -1)
    scores = (sure[:, :, None] * cells[:, :, 5:].sigmoid()).movedim(2, -1)
    is_found = (sure >= conf_thresh)[..., None]
    boxes = torch.where(is_found, boxes, torch.zeros_like(boxes))
    scores = torch.where(is_found, scores, torch.zeros_like(scores))
    return boxes.reshape(n, -1, 4), scores.reshape(n, -1, class_num)


def _placed(
    cells: Tensor, anchors: list[int], ratio: int, scale: float, grid: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Centers and sizes as parts of the image's sides: [N, anchors, H, W, 2] each."""
    height, width = cells.shape[3:]
    like: dict[str, Any] = {"dtype": cells.dtype, "device": cells.device}
    corner = torch.stack(
        torch.meshgrid(torch.arange(width, **like), torch.arange(height, **like), indexing="xy"),
        -1,
    )
    sides = torch.tensor(grid, **like)
    shift = cells[:, :, :2].movedim(2, -1).sigmoid() * scale - 0.5 * (scale - 1.0)
    shapes = torch.tensor(anchors, **like).reshape(-1, 1, 1, 2)
    size = cells[:, :, 2:4].movedim(2, -1).exp() * shapes / (sides * ratio)
    return (corner + shift) / sides, size


class _Match(NamedTuple):
    """Boxes of the truth that an anchor of this grid is to find: where, and what."""

    at: tuple[Tensor, Tensor, Tensor, Tensor]  # image, anchor of the grid, row, column
    shift: Tensor  # [matches, 2], from the corner of the cell
    stretch: Tensor  # [matches, 2], logarithms of factors
    weight: Tensor  # by size and score
    score: Tensor
    label: Tensor


@op(
    "yolo_loss",
    rows=Rows.OTHER,
    types=("yolov3_loss(X, GTBox, GTLabel, GTScore) -> Loss",),
)
def yolo_loss(
    x: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    gt_score: Tensor | None,
    anchors: list[int],
    anchor_mask: list[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    use_label_smooth: bool,
    scale_x_y: float,
) -> Tensor:
    """The loss of each image: of places and classes where a true box belongs, of objects all over,
    save where a box is near to a true one without being its.
    """
    n, _, height, width = x.shape
    cells = x.reshape(n, len(anchor_mask), 5 + class_num, height, width)
    if x.is_meta:
        return x.new_empty(n)
    truth = gt_box.detach()
    score = torch.ones_like(truth[..., 0]) if gt_score is None else gt_score.detach()
    is_box = (truth[..., 2:] >= 1e-6).all(-1)
    match = _matched(truth, is_box, gt_label, score, anchors, anchor_mask, downsample_ratio, cells)
    own = [anchors[2 * i + k] for i in anchor_mask for k in (0, 1)]
    with torch.no_grad():
        placed = _placed(cells, own, downsample_ratio, scale_x_y, (height, height))
        is_near = _nearness(placed, truth, is_box) > ignore_thresh
        wanted = torch.where(is_near, -torch.ones_like(cells[:, :, 4]), 0.0)
        wanted[match.at] = match.score
    found = cells.movedim(2, -1)[match.at]  # [matches, channels]
    entropy = F.binary_cross_entropy_with_logits
    smooth = min(1.0 / class_num, 1.0 / 40) if use_label_smooth else 0.0
    kinds = F.one_hot(match.label, class_num).to(x.dtype) * (1 - 2 * smooth) + smooth
    place = entropy(found[:, :2], match.shift, reduction="none").sum(1)
    place = place + (found[:, 2:4] - match.stretch).abs().sum(1)
    kind = entropy(found[:, 5:], kinds, reduction="none").sum(1)
    matched = place * match.weight + kind * match.score
    is_object = wanted > 1e-5
    each = entropy(cells[:, :, 4], is_object.to(x.dtype), reduction="none")
    object_weight = torch.where(is_object, wanted, (wanted > -0.5).to(x.dtype))
    loss = (each * object_weight).flatten(1).sum(1)
    return loss.index_add(0, match.at[0], matched)


def _nearness(placed: tuple[Tensor, Tensor], truth: Tensor, is_box: Tensor) -> Tensor:
    """The largest overlap of each box of the grid with a true one."""
    center, size = (part[..., None, :] for part in placed)
    best = torch.zeros_like(placed[0][..., 0])
    if truth.shape[1] == 0:
        return best
    other, extent = (part[:, None, None, None] for part in truth.chunk(2, -1))
    end = torch.minimum(center + size / 2, other + extent / 2)
    side = end - torch.maximum(center - size / 2, other - extent / 2)
    common = torch.where((side < 0).any(-1), 0.0, side.prod(-1))
    found = common / (size.prod(-1) + extent.prod(-1) - common)
    found = torch.where(is_box[:, None, None, None], found, 0.0)
    return torch.fmax(best, found.amax(-1))


def _matched(
    truth: Tensor,
    is_box: Tensor,
    label: Tensor,
    score: Tensor,
    anchors: list[int],
    anchor_mask: list[int],
    ratio: int,
    cells: Tensor,
) -> _Match:
    """A true box belongs to the anchor whose shape is the nearest, if that is of this grid, in the
    cell where its center is.
    """
    height, width = cells.shape[3:]
    size = truth[..., 2:]
    shapes = truth.new_tensor(anchors).reshape(-1, 2)
    scaled = shapes / (ratio * height)
    common = torch.minimum(size[:, :, None], scaled).prod(-1)
    union = size.prod(-1)[:, :, None] + scaled.prod(-1) - common
    best = (common / union).argmax(-1)
    places = torch.full((len(shapes),), -1, device=truth.device)
    # of an anchor that is listed twice the first counts
    for position in reversed(range(len(anchor_mask))):
        places[anchor_mask[position]] = position
    own = places[best]
    image, number = (is_box & (own >= 0)).nonzero(as_tuple=True)
    boxes, kind = truth[image, number], best[image, number]
    column = (boxes[:, 0] * width).long().clamp(0, width - 1)
    row = (boxes[:, 1] * height).long().clamp(0, height - 1)
    factor = boxes[:, 2:] * (ratio * height) / shapes[kind]
    rated = score[image, number]
    return _Match(
        (image, own[image, number], row, column),
        boxes[:, :2] * height - torch.stack([column, row], 1),
        factor.log(),
        (2.0 - boxes[:, 2] * boxes[:, 3]) * rated,
        rated,
        label[image, number].long(),
    )
