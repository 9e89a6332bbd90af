"""What detectors compute beside layers, and the block that nets are made of."""

from argosy.vision.ops._block import ConvNormActivation
from argosy.vision.ops._box import (
    box_coder,
    distribute_fpn_proposals,
    generate_proposals,
    matrix_nms,
    nms,
    prior_box,
)
from argosy.vision.ops._deform import DeformConv2D, deform_conv2d
from argosy.vision.ops._file import decode_jpeg, read_file
from argosy.vision.ops._region import (
    PSRoIPool,
    RoIAlign,
    RoIPool,
    psroi_pool,
    roi_align,
    roi_pool,
)
from argosy.vision.ops._yolo import yolo_box, yolo_loss

__all__ = [
    "yolo_loss",
    "yolo_box",
    "prior_box",
    "box_coder",
    "deform_conv2d",
    "DeformConv2D",
    "distribute_fpn_proposals",
    "generate_proposals",
    "read_file",
    "decode_jpeg",
    "roi_pool",
    "RoIPool",
    "psroi_pool",
    "PSRoIPool",
    "roi_align",
    "RoIAlign",
    "nms",
    "matrix_nms",
]
