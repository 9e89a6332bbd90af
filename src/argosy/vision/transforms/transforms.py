"""Transforms as objects, to be chained with ``Compose``."""

from argosy.vision.transforms import _shape
from argosy.vision.transforms._base import BaseTransform, Compose
from argosy.vision.transforms._base import BatchCompose as BatchCompose
from argosy.vision.transforms._color import (
    BrightnessTransform,
    ColorJitter,
    ContrastTransform,
    Grayscale,
    HueTransform,
    Normalize,
    SaturationTransform,
    ToTensor,
    Transpose,
)
from argosy.vision.transforms._erasing import RandomErasing
from argosy.vision.transforms._shape import (
    CenterCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)

_get_image_size = _shape.image_size

__all__ = [
    "BaseTransform",
    "Compose",
    "Resize",
    "RandomResizedCrop",
    "CenterCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Transpose",
    "Normalize",
    "BrightnessTransform",
    "SaturationTransform",
    "ContrastTransform",
    "HueTransform",
    "ColorJitter",
    "RandomCrop",
    "Pad",
    "RandomAffine",
    "RandomRotation",
    "RandomPerspective",
    "Grayscale",
    "ToTensor",
    "RandomErasing",
]
