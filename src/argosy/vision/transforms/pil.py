"""Images that are PIL images: Pillow does the work. It is imported only once such an image turns
up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import NotSupported, UsageError
from argosy.tensor.engine import Tensor
from argosy.utils import try_import
from argosy.vision.transforms import _array, _geometry


def _part(name: str) -> Any:
    return try_import(f"PIL.{name}")


def _resample(interpolation: str) -> Any:
    names = ("nearest", "bilinear", "bicubic", "box", "lanczos", "hamming")
    if interpolation not in names:
        raise NotSupported(f"interpolation={interpolation!r} is not one of Pillow's: {list(names)}")
    return getattr(_part("Image").Resampling, interpolation.upper())


def size_of(img: Any) -> Any:
    """(width, height)."""
    return img.size


def as_tensor(img: Any) -> Tensor:
    """The levels as they are, [C, H, W]."""
    array = np.asarray(img)
    return Tensor(array[None] if array.ndim == 2 else array.transpose(2, 0, 1))


def to_tensor(img: Any, data_format: str) -> Tensor:
    if img.mode in ("I", "I;16"):
        return _array.to_tensor(np.asarray(img, np.int32), data_format)
    if img.mode == "1":
        return _array.to_tensor(255 * np.asarray(img, np.uint8), data_format)
    return _array.to_tensor(np.asarray(img), data_format)


def resize(img: Any, size: Any, interpolation: str) -> Any:
    if _geometry.is_target_size(size, *img.size):
        return img
    height, width = _geometry.target_size(size, *img.size)
    return img.resize((width, height), _resample(interpolation))


def pad(img: Any, padding: Any, fill: Any, padding_mode: str) -> Any:
    left, top, right, bottom = _geometry.paddings(padding, fill, padding_mode)
    palette = img.getpalette() if img.mode == "P" else None
    if padding_mode == "constant":
        out = _part("ImageOps").expand(img, border=(left, top, right, bottom), fill=fill)
    else:
        out = _part("Image").fromarray(_array.pad(np.asarray(img), padding, 0, padding_mode))
    if palette is not None:
        out.putpalette(palette)
    return out


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    return img.crop((left, top, left + width, top + height))


def center_crop(img: Any, output_size: Any) -> Any:
    return crop(img, *_geometry.center_offsets(output_size, *img.size))


def hflip(img: Any) -> Any:
    return img.transpose(_part("Image").Transpose.FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    return img.transpose(_part("Image").Transpose.FLIP_TOP_BOTTOM)


def adjust_brightness(img: Any, factor: float) -> Any:
    return _part("ImageEnhance").Brightness(img).enhance(factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    return _part("ImageEnhance").Contrast(img).enhance(factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    return _part("ImageEnhance").Color(img).enhance(factor)


def adjust_hue(img: Any, factor: float) -> Any:
    if not -0.5 <= factor <= 0.5:
        raise UsageError(f"adjust_hue: hue_factor should be in [-0.5, 0.5], but received {factor}")
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = (np.asarray(hue).astype("int16") + int(factor * 255)) % 256
    module = _part("Image")
    return module.merge(
        "HSV", (module.fromarray(turned.astype("uint8")), saturation, value)
    ).convert(img.mode)


def to_grayscale(img: Any, num_output_channels: int) -> Any:
    if num_output_channels not in (1, 3):
        raise UsageError(
            "to_grayscale: num_output_channels should be either 1 or 3, but received "
            f"{num_output_channels}"
        )
    gray = img.convert("L")
    return gray if num_output_channels == 1 else _part("Image").merge("RGB", (gray, gray, gray))


def normalize(img: Any, mean: Any, std: Any, data_format: str, to_rgb: bool) -> np.ndarray:
    return _array.normalize(np.array(img).astype("float32"), mean, std, data_format, to_rgb)


def _fill(img: Any, fill: Any) -> Any:
    """One number stands for every band of the image."""
    return (
        tuple([fill] * len(img.getbands()))
        if isinstance(fill, int) and len(img.getbands()) > 1
        else fill
    )


def rotate(img: Any, angle: float, interpolation: str, expand: bool, center: Any, fill: Any) -> Any:
    return img.rotate(angle, _resample(interpolation), expand, center, fillcolor=_fill(img, fill))


def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: str,
    fill: Any,
    center: Any,
) -> Any:
    width, height = img.size
    origin = [width * 0.5, height * 0.5] if center is None else center
    matrix = _geometry.inverse_affine(origin, angle, translate, scale, shear)
    kind = _part("Image").Transform.AFFINE
    return img.transform(
        img.size, kind, matrix, _resample(interpolation), fillcolor=_fill(img, fill)
    )


def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: str, fill: Any) -> Any:
    coefficients = _geometry.perspective_coefficients(startpoints, endpoints)
    kind = _part("Image").Transform.PERSPECTIVE
    return img.transform(
        img.size, kind, coefficients, _resample(interpolation), fillcolor=_fill(img, fill)
    )


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool) -> Any:
    return _part("Image").fromarray(
        _array.erase(np.array(img, dtype=np.uint8), i, j, h, w, v, True)
    )
