"""Images that are Tensors [C, H, W] (some functions also take a batch): every computation is an op
of the table.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.ops.images import image as ops
from argosy.tensor.engine import Tensor, apply
from argosy.vision.transforms import _geometry


class NotAnImage(UsageError, RuntimeError):
    """A Tensor of the wrong rank."""


def size_of(img: Tensor) -> tuple[int, int]:
    """(width, height)."""
    if len(img.shape) not in (3, 4):
        raise UsageError(f"an image Tensor must be 3-D or 4-D, but has shape {list(img.shape)}")
    return img.shape[-1], img.shape[-2]


def _check(img: Tensor) -> Tensor:
    if len(img.shape) not in (3, 4):
        raise NotAnImage(
            f"an image Tensor must be 3-D or 4-D, [C, H, W], but has shape {list(img.shape)}"
        )
    return img


def _channels(img: Tensor) -> int:
    count = _check(img).shape[-3]
    if count not in (1, 3):
        raise BadArgument(f"an image must have 1 or 3 channels for this, but has {count}")
    return count


def _mode(interpolation: str, known: tuple[str, ...]) -> str:
    mode = interpolation.lower()
    if mode not in known:
        raise NotSupported(
            f"interpolation={interpolation!r} is not supported on Tensors; use one of {list(known)}"
        )
    return mode


def to_tensor(img: Tensor, data_format: str) -> Any:
    return img if data_format.lower() == "chw" else img.transpose((1, 2, 0))


def resize(img: Tensor, size: Any, interpolation: str) -> Any:
    width, height = size_of(_check(img))
    if _geometry.is_target_size(size, width, height):
        return img
    new_height, new_width = _geometry.target_size(size, width, height)
    mode = _mode(interpolation, ("nearest", "bilinear", "bicubic", "area"))
    return apply(ops.resize, img, new_height, new_width, mode)


def pad(img: Tensor, padding: Any, fill: Any, padding_mode: str) -> Any:
    left, top, right, bottom = _geometry.paddings(padding, fill, padding_mode)
    if padding_mode == "symmetric":
        raise UsageError("pad: Tensors do not support symmetric mode")
    mode = "replicate" if padding_mode == "edge" else padding_mode
    return apply(ops.pad, _check(img), left, right, top, bottom, mode, float(fill))


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Any:
    return _check(img)[..., top : top + height, left : left + width]


def center_crop(img: Tensor, output_size: Any) -> Any:
    return crop(img, *_geometry.center_offsets(output_size, *size_of(_check(img))))


def hflip(img: Tensor) -> Any:
    return _check(img).flip(axis=[-1])


def vflip(img: Tensor) -> Any:
    return _check(img).flip(axis=[-2])


def adjust_brightness(img: Tensor, factor: float) -> Any:
    _channels(img)
    return apply(ops.brightness, img, _not_negative("brightness_factor", factor))


def adjust_contrast(img: Tensor, factor: float) -> Any:
    _channels(img)
    return apply(ops.contrast, img, _not_negative("contrast_factor", factor))


def adjust_saturation(img: Tensor, factor: float) -> Any:
    _not_negative("saturation_factor", factor)
    return img if _channels(img) == 1 else apply(ops.saturation, img, float(factor))


def adjust_hue(img: Tensor, factor: float) -> Any:
    if not -0.5 <= factor <= 0.5:
        raise BadArgument(f"adjust_hue: hue_factor should be in [-0.5, 0.5], but received {factor}")
    return img if _channels(img) == 1 else apply(ops.hue, img, float(factor))


def _not_negative(name: str, factor: float) -> float:
    if factor < 0:
        raise BadArgument(f"{name} should be non-negative, but received {factor}")
    return float(factor)


def to_grayscale(img: Tensor, num_output_channels: int) -> Any:
    if num_output_channels not in (1, 3):
        raise UsageError(
            "to_grayscale: num_output_channels should be either 1 or 3, but received "
            f"{num_output_channels}"
        )
    return apply(ops.grayscale, _check(img), num_output_channels)


def normalize(img: Tensor, mean: Any, std: Any, data_format: str, to_rgb: bool) -> Any:
    axis = -3 if data_format.upper() == "CHW" else -1
    return apply(ops.normalize, _check(img), _floats(mean), _floats(std), axis)


def _floats(values: Any) -> list[float]:
    return [float(v) for v in values] if isinstance(values, (list, tuple)) else [float(values)]


def _fill(fill: Any) -> list[float] | None:
    return None if fill is None else _floats(fill)


def rotate(
    img: Tensor, angle: float, interpolation: str, expand: bool, center: Any, fill: Any
) -> Any:
    mode = _mode(interpolation, ("nearest", "bilinear"))
    origin = None if center is None else [float(c) for c in center]
    return apply(ops.rotate, _check(img), float(angle), mode, bool(expand), origin, _fill(fill))


def affine(
    img: Tensor,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: str,
    fill: Any,
    center: Any,
) -> Any:
    width, height = size_of(_check(img))
    # Paddle measures the centre with height and width exchanged; they only differ for images that
    # are not square
    origin = [0.0, 0.0] if center is None else [center[0] - height * 0.5, center[1] - width * 0.5]
    matrix = _geometry.inverse_affine(origin, angle, [float(t) for t in translate], scale, shear)
    colour = [float(fill)] * img.shape[-3] if isinstance(fill, int) else _fill(fill)
    return apply(ops.affine, img, matrix, _mode(interpolation, ("nearest", "bilinear")), colour)


def perspective(
    img: Tensor, startpoints: Any, endpoints: Any, interpolation: str, fill: Any
) -> Any:
    coefficients = _geometry.perspective_coefficients(startpoints, endpoints)
    return apply(
        ops.perspective,
        _check(img),
        coefficients,
        _mode(interpolation, ("nearest", "bilinear")),
        _fill(fill),
    )


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool) -> Any:
    out = _check(img) if inplace else img.clone()
    out[..., i : i + h, j : j + w] = v
    return out
