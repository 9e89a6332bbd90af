"""Images that are NumPy arrays [H, W, C] or [H, W].

Paddle hands these to OpenCV, which is not needed here. The results are the same up to rounding:
OpenCV interpolates and converts colours in fixed point, so that a uint8 value may differ by one (by
a few after a change of hue).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.images import image as ops
from argosy.tensor.engine import Tensor
from argosy.vision.transforms import _geometry


def size_of(img: np.ndarray) -> tuple[int, int]:
    """(width, height)."""
    return img.shape[1], img.shape[0]


def to_tensor(img: np.ndarray, data_format: str) -> Tensor:
    if data_format not in ("CHW", "HWC"):
        raise UsageError(
            f"to_tensor: data_format should be CHW or HWC, but received {data_format!r}"
        )
    if img.ndim == 2:
        img = img[:, :, None]
    if data_format == "CHW":
        img = img.transpose(2, 0, 1)
    return Tensor(img.astype("float32") / np.float32(255.0) if img.dtype == np.uint8 else img)


def _through_torch(img: np.ndarray, compute: Callable[[torch.Tensor], torch.Tensor]) -> np.ndarray:
    """Run a raw op on [C, H, W] floats and come back in the dtype of ``img``, rounded and clipped
    where it is integer.
    """
    planes = img[None] if img.ndim == 2 else img.transpose(2, 0, 1)
    work = "float64" if img.dtype == np.float64 else "float32"
    out = compute(torch.from_numpy(np.ascontiguousarray(planes).astype(work))).numpy()
    out = out[0] if img.ndim == 2 else out.transpose(1, 2, 0)
    return np.ascontiguousarray(_as_dtype(out, img.dtype))


def _as_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = np.rint(values).clip(info.min, info.max)
    return values.astype(dtype)


def resize(img: np.ndarray, size: Any, interpolation: str) -> np.ndarray:
    width, height = size_of(img)
    if _geometry.is_target_size(size, width, height):
        return img
    new_height, new_width = _geometry.target_size(size, width, height)
    if interpolation not in ("nearest", "bilinear", "bicubic", "area"):
        raise NotSupported(
            f"resize: interpolation={interpolation!r} of an array needs OpenCV; use nearest, "
            "bilinear or bicubic"
        )
    if interpolation == "area" and (height % new_height or width % new_width):
        raise NotSupported(
            f"resize: area interpolation from {(height, width)} to {(new_height, new_width)}: "
            "only whole factors"
        )
    return _through_torch(img, lambda x: ops.resize.fn(x, new_height, new_width, interpolation))


def pad(img: np.ndarray, padding: Any, fill: Any, padding_mode: str) -> Any:
    """Widen; one number fills every channel (OpenCV, under Paddle, fills only the first with
    it).
    """
    left, top, right, bottom = _geometry.paddings(padding, fill, padding_mode)
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (img.ndim - 2)
    if padding_mode != "constant":
        return np.pad(img, widths, padding_mode)  # type: ignore[call-overload]
    out = np.empty([n + a + b for n, (a, b) in zip(img.shape, widths, strict=True)], img.dtype)
    out[...] = np.asarray(fill, img.dtype)
    out[top : top + img.shape[0], left : left + img.shape[1]] = img
    return out


def crop(img: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
    return img[top : top + height, left : left + width]


def center_crop(img: np.ndarray, output_size: Any) -> np.ndarray:
    return crop(img, *_geometry.center_offsets(output_size, *size_of(img)))


def hflip(img: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(img[:, ::-1])


def vflip(img: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(img[::-1])


def _look_up(img: np.ndarray, levels: np.ndarray) -> Any:
    """Replace each level 0 … 255 by another."""
    return levels.clip(0, 255).astype("uint8")[img.astype("uint8")]


def adjust_brightness(img: np.ndarray, factor: float) -> Any:
    return _look_up(img, np.arange(256) * factor)


def adjust_contrast(img: np.ndarray, factor: float) -> Any:
    """Stretch levels about 74, which is Paddle's middle for arrays."""
    return _look_up(img, (np.arange(256) - 74) * factor + 74)


def adjust_saturation(img: np.ndarray, factor: float) -> Any:
    """Blend with luma by a random share between ``1 - factor`` and ``1 + factor``: for arrays
    Paddle draws it here.
    """
    share = np.random.uniform(max(0, 1 - factor), 1 + factor)
    values = img.astype("float32")
    luma = values @ np.array([0.114, 0.587, 0.299], "float32")
    return (values * share + luma[..., None] * (1 - share)).clip(0, 255).astype(img.dtype)


def adjust_hue(img: np.ndarray, factor: float) -> np.ndarray:
    if not -0.5 <= factor <= 0.5:
        raise UsageError(f"adjust_hue: hue_factor should be in [-0.5, 0.5], but received {factor}")
    blue_first = img.astype("uint8")[..., ::-1]
    turned = _through_torch(
        blue_first, lambda x: ops.hue.fn(x / 255.0, int(factor * 255) / 256) * 255.0
    )
    return np.ascontiguousarray(turned[..., ::-1]).astype(img.dtype)


def to_grayscale(img: np.ndarray, num_output_channels: int) -> np.ndarray:
    if num_output_channels not in (1, 3):
        raise UsageError(
            "to_grayscale: num_output_channels should be either 1 or 3, but received "
            f"{num_output_channels}"
        )
    luma = _as_dtype(img @ np.array([0.299, 0.587, 0.114], "float32"), img.dtype)[..., None]
    return (
        np.broadcast_to(luma, (*img.shape[:2], num_output_channels))
        if num_output_channels == 3
        else luma
    )


def normalize(img: np.ndarray, mean: Any, std: Any, data_format: str, to_rgb: bool) -> np.ndarray:
    shape = (-1, 1, 1) if data_format == "CHW" else (1, 1, -1)
    if to_rgb:
        img = img[..., ::-1]
    return (img - np.float32(np.reshape(mean, shape))) / np.float32(np.reshape(std, shape))


def rotate(
    img: np.ndarray, angle: float, interpolation: str, expand: bool, center: Any, fill: Any
) -> np.ndarray:
    """Rotate about ``center``, by default (w / 2, h / 2) with pixel (0, 0) at the origin."""
    width, height = size_of(img)
    cx, cy = (width / 2.0, height / 2.0) if center is None else center
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    forward = np.array(
        [
            [cos, sin, (1 - cos) * cx - sin * cy],
            [-sin, cos, sin * cx + (1 - cos) * cy],
            [0.0, 0.0, 1.0],
        ]
    )
    if expand:
        turn, middle = np.round(forward[:2, :2], 15).T, np.array([[cx], [cy]])
        corners = (
            turn @ (np.array([[0, width, width, 0], [0, 0, height, height]]) - middle) + middle
        )
        new = np.ceil(corners.max(axis=1)) - np.floor(corners.min(axis=1))
        forward[:2, 2] += (new - (width, height)) * 0.5
        width, height = int(new[0]), int(new[1])
    return _warp(img, np.linalg.inv(forward), height, width, interpolation, fill)


def _warp(
    img: np.ndarray, backward: np.ndarray, height: int, width: int, interpolation: str, fill: Any
) -> np.ndarray:
    """Take each output pixel from where ``backward`` says, ``fill`` outside."""
    ys, xs = np.mgrid[0:height, 0:width]
    sx, sy = (backward[:2] @ np.stack([xs.ravel(), ys.ravel(), np.ones(xs.size)])).reshape(
        2, height, width
    )
    colour = np.broadcast_to(np.asarray(fill, "float64"), img.shape[2:])

    def at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        inside = (x >= 0) & (x < img.shape[1]) & (y >= 0) & (y < img.shape[0])
        values = np.empty((height, width, *img.shape[2:]), "float64")
        values[...] = colour
        values[inside] = img[y[inside], x[inside]]
        return values

    if interpolation == "nearest":
        out = at(np.rint(sx).astype(int), np.rint(sy).astype(int))
    elif interpolation == "bilinear":
        x0, y0 = np.floor(sx).astype(int), np.floor(sy).astype(int)
        extra = (...,) + (None,) * (img.ndim - 2)
        fx, fy = (sx - x0)[extra], (sy - y0)[extra]
        upper = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx
        out = upper * (1 - fy) + (at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx) * fy
    else:
        raise NotSupported(
            f"rotate: interpolation={interpolation!r} of an array needs OpenCV; use nearest or "
            "bilinear"
        )
    return _as_dtype(out, img.dtype)


def affine(img: np.ndarray, *args: Any) -> np.ndarray:
    raise NotSupported("affine: arrays need OpenCV; convert with to_tensor or to a PIL image first")


def perspective(img: np.ndarray, *args: Any) -> np.ndarray:
    raise NotSupported(
        "perspective: arrays need OpenCV; convert with to_tensor or to a PIL image first"
    )


def erase(img: np.ndarray, i: int, j: int, h: int, w: int, v: Any, inplace: bool) -> np.ndarray:
    out = img if inplace else img.copy()
    out[i : i + h, j : j + w, ...] = v
    return out
