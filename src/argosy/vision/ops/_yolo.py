"""What YOLO says of each cell, as boxes, and its loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.detection import yolo as ops
from argosy.tensor.engine import apply


def yolo_box(
    x: Any,
    img_size: Any,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> Any:
    """Boxes in pixels of images of ``img_size`` (height, width), and scores of classes; zeros where
    an object is less likely than ``conf_thresh``.
    """
    return apply(
        ops.yolo_box,
        x,
        img_size,
        list(anchors),
        class_num,
        conf_thresh,
        downsample_ratio,
        clip_bbox,
        scale_x_y,
        iou_aware,
        iou_aware_factor,
    )


def yolo_loss(
    x: Any,
    gt_box: Any,
    gt_label: Any,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: Any = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> Any:
    """The loss of each image, given its true boxes (center and size, as parts of its sides; of size
    0 where there is none).

    Differs from Paddle: where two true boxes belong to one anchor of one cell the gradient is that
    of the whole loss, not of the last of them.
    """
    return apply(
        ops.yolo_loss,
        x,
        gt_box,
        gt_label,
        gt_score,
        list(anchors),
        list(anchor_mask),
        class_num,
        ignore_thresh,
        downsample_ratio,
        use_label_smooth,
        scale_x_y,
    )
