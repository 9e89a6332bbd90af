"""Ops of detectors: boxes, regions of feature maps, what YOLO computes."""

from argosy.ops.detection import anchors, boxes, proposals, regions, yolo
