"""Transforms of images: PIL images, NumPy arrays [H, W, C] and Tensors [C, H, W]."""

from argosy.vision.transforms import functional, transforms
from argosy.vision.transforms.functional import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    affine,
    center_crop,
    crop,
    erase,
    hflip,
    normalize,
    pad,
    perspective,
    resize,
    rotate,
    to_grayscale,
    to_tensor,
    vflip,
)
from argosy.vision.transforms.transforms import *
from argosy.vision.transforms.transforms import BatchCompose

__all__ = [
    *transforms.__all__,
    "to_tensor",
    "hflip",
    "vflip",
    "resize",
    "pad",
    "affine",
    "rotate",
    "perspective",
    "to_grayscale",
    "crop",
    "center_crop",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "normalize",
    "erase",
]
