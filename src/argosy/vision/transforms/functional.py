"""Transforms as functions. Each takes a PIL image, an array [H, W, C] or a Tensor [C, H, W], and
returns the same kind.
"""

from __future__ import annotations

import numbers
import sys
from types import ModuleType
from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError, UsageError
from argosy.tensor.engine import Tensor
from argosy.vision.transforms import _array, _tensor, pil

__all__ = [
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
    "adjust_saturation",
    "adjust_hue",
    "normalize",
    "erase",
]


def _is_tensor_image(img: Any) -> bool:
    return isinstance(img, Tensor)


def _is_numpy_image(img: Any) -> bool:
    return isinstance(img, np.ndarray) and img.ndim in (2, 3)


def _is_pil_image(img: Any) -> bool:
    """Nobody holds a PIL image who has not imported PIL."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(img, module.Image)


def _backend(img: Any) -> ModuleType:
    """The module that has every function below for this kind of image."""
    if isinstance(img, Tensor):
        return _tensor
    if _is_numpy_image(img):
        return _array
    if _is_pil_image(img):
        return pil
    shape = f" of shape {img.shape}" if isinstance(img, np.ndarray) else ""
    raise DtypeError(
        "an image should be a PIL Image, a Tensor or a 2-D or 3-D array, but received "
        f"{type(img).__name__}{shape}"
    )


def to_tensor(pic: Any, data_format: str = "CHW") -> Any:
    """Turn an image into a Tensor [C, H, W] (or [H, W, C]); uint8 levels become floats in [0, 1].

    Example:
        >>> import numpy as np
        >>> paddle.vision.transforms.to_tensor(np.full((4, 5, 3), 255, "uint8")).shape
        [3, 4, 5]
    """
    return _backend(pic).to_tensor(pic, data_format)


def resize(img: Any, size: Any, interpolation: str = "bilinear") -> Any:
    """Resize to (height, width); one number is for the shorter side and keeps the aspect ratio."""
    return _backend(img).resize(img, size, interpolation)


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Widen by ``padding``: one number, (left and right, top and bottom), or (left, top, right,
    bottom).
    """
    return _backend(img).pad(img, padding, fill, padding_mode)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a rectangle."""
    return _backend(img).crop(img, top, left, height, width)


def center_crop(img: Any, output_size: Any) -> Any:
    """Cut (height, width) out of the middle; one number is a square."""
    return _backend(img).center_crop(img, output_size)


def hflip(img: Any) -> Any:
    """Exchange left and right."""
    return _backend(img).hflip(img)


def vflip(img: Any) -> Any:
    """Exchange top and bottom."""
    return _backend(img).vflip(img)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Multiply the levels: 0 gives black, 1 the image."""
    return _backend(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Move the levels away from their middle: 0 gives gray, 1 the image."""
    return _backend(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Move the colours away from gray: 0 gives gray, 1 the image. For arrays the factor is the
    width of a random one.
    """
    return _backend(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn the colour circle by ``hue_factor`` of a full turn, -0.5 to 0.5."""
    return _backend(img).adjust_hue(img, hue_factor)


def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: str = "nearest",
    fill: Any = 0,
    center: Any = None,
) -> Any:
    """Rotate by ``angle`` degrees, shear (x, y) degrees and scale about ``center``, then move by
    ``translate`` pixels.
    """
    backend = _backend(img)
    for name, value in (("translate", translate), ("center", center)):
        if value is not None and not isinstance(value, (list, tuple)):
            raise DtypeError(
                f"affine: {name} should be a sequence, but received {type(value).__name__}"
            )
    if not isinstance(angle, (int, float)) or not isinstance(interpolation, str):
        raise DtypeError(
            f"affine: angle should be a number and interpolation a string, but are {angle!r}, "
            f"{interpolation!r}"
        )
    if len(translate) != 2 or scale <= 0.0:
        raise UsageError(
            "affine: translate needs two values and scale must be positive, but are "
            f"{translate!r}, {scale!r}"
        )
    is_one = isinstance(shear, numbers.Number)
    shears = [float(shear), 0.0] if is_one else list(shear)
    shears = shears * 2 if len(shears) == 1 else shears
    if len(shears) != 2:
        raise UsageError(f"affine: shear should be one or two values, but received {shear!r}")
    return backend.affine(
        img, float(angle), list(translate), scale, shears, interpolation, fill, center
    )


def rotate(
    img: Any,
    angle: float,
    interpolation: str = "nearest",
    expand: bool = False,
    center: Any = None,
    fill: Any = 0,
) -> Any:
    """Rotate counter-clockwise by ``angle`` degrees; ``expand`` makes room for the corners."""
    return _backend(img).rotate(img, angle, interpolation, expand, center, fill)


def perspective(
    img: Any, startpoints: Any, endpoints: Any, interpolation: str = "nearest", fill: Any = 0
) -> Any:
    """Move four points (x, y) to four others, and the rest with them."""
    return _backend(img).perspective(img, startpoints, endpoints, interpolation, fill)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Luma of an RGB image, in one channel or repeated in three."""
    return _backend(img).to_grayscale(img, num_output_channels)


def normalize(img: Any, mean: Any, std: Any, data_format: str = "CHW", to_rgb: bool = False) -> Any:
    """``(img - mean) / std`` per channel; a PIL image gives an array. ``to_rgb`` reverses the last
    axis of an array.
    """
    return _backend(img).normalize(img, mean, std, data_format, to_rgb)


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Overwrite the rectangle of height ``h`` and width ``w`` at (i, j) with ``v``."""
    return _backend(img).erase(img, i, j, h, w, v, inplace)
