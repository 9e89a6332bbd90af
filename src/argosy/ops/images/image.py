"""Image ops on tensors of shape [..., C, H, W]."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from argosy.ops.table import op

Matrix = list[float]


def _batched(x: Tensor) -> Tensor:
    return x if x.ndim == 4 else x.unsqueeze(0)


def _unbatched(out: Tensor, x: Tensor) -> Tensor:
    return out if x.ndim == 4 else out.squeeze(0)


@op("image_resize")
def resize(x: Tensor, height: int, width: int, mode: str) -> Tensor:
    """Sample at half-pixel centres, without smoothing beforehand; ``mode`` is nearest, bilinear,
    bicubic or area.
    """
    aligned = None if mode in ("nearest", "area") else False
    return _unbatched(
        F.interpolate(_batched(x), (height, width), mode=mode, align_corners=aligned), x
    )


@op("image_pad")
def pad(x: Tensor, left: int, right: int, top: int, bottom: int, mode: str, value: float) -> Tensor:
    """Widen by constant, reflect or replicate."""
    return _unbatched(
        F.pad(_batched(x), [left, right, top, bottom], mode, value if mode == "constant" else None),
        x,
    )


@op("image_normalize")
def normalize(x: Tensor, mean: list[float], std: list[float], channel_axis: int) -> Tensor:
    """``(x - mean) / std`` per channel."""
    shape = [-1 if axis == channel_axis else 1 for axis in range(-3, 0)]
    dtype = x.dtype if x.dtype.is_floating_point else torch.float32
    means = torch.tensor(mean, dtype=dtype, device=x.device).reshape(shape)
    return (x - means) / torch.tensor(std, dtype=dtype, device=x.device).reshape(shape)


@op("image_grayscale")
def grayscale(x: Tensor, num_channels: int) -> Tensor:
    """Luma of RGB, repeated ``num_channels`` times."""
    weights = (
        torch.tensor([0.2989, 0.5870, 0.1140], dtype=torch.float32, device=x.device)
        .to(x.dtype)
        .reshape(3, 1, 1)
    )
    gray = (x * weights).sum(dim=-3, keepdim=True)
    return gray.expand(*x.shape[:-3], num_channels, *x.shape[-2:])


def _blend(x: Tensor, target: Tensor, ratio: float) -> Tensor:
    """Go from ``target`` (ratio 0) to ``x`` (1) and beyond, within the range of colours."""
    if x.dtype.is_floating_point:
        return torch.lerp(target, x, ratio).clamp(0.0, 1.0)
    return (
        torch.lerp(target.to(torch.float32), x.to(torch.float32), ratio)
        .clamp(0.0, 255.0)
        .to(x.dtype)
    )


@op("image_brightness")
def brightness(x: Tensor, factor: float) -> Tensor:
    return _blend(x, torch.zeros_like(x), factor)


@op("image_contrast")
def contrast(x: Tensor, factor: float) -> Tensor:
    """Blend with the mean luma of each image."""
    gray = grayscale.fn(x, 1) if x.shape[-3] == 3 else x
    mean = gray.to(x.dtype if x.dtype.is_floating_point else torch.float32).mean(
        dim=(-3, -2, -1), keepdim=True
    )
    return _blend(x, mean.expand_as(x), factor)


@op("image_saturation")
def saturation(x: Tensor, factor: float) -> Tensor:
    """Blend with the luma of each pixel."""
    return _blend(x, grayscale.fn(x, 3), factor)


@op("image_hue")
def hue(x: Tensor, shift: float) -> Tensor:
    """Turn the colour circle by ``shift`` of a full turn; uint8 or floating in [0, 1]."""
    image = x.to(torch.float32) / 255.0 if x.dtype is torch.uint8 else x
    h, s, v = _rgb_to_hsv(image)
    turned = h + shift
    out = _hsv_to_rgb(turned - turned.floor(), s, v)
    return (out * 255.0).to(x.dtype) if x.dtype is torch.uint8 else out


def _rgb_to_hsv(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r, g, b = x.unbind(-3)
    high, low = x.amax(-3), x.amin(-3)
    is_gray = high == low
    delta = torch.where(is_gray, torch.ones_like(high), high - low)
    s = (high - low) / torch.where(is_gray, torch.ones_like(high), high)
    rc, gc, bc = (high - r) / delta, (high - g) / delta, (high - b) / delta
    sector = torch.where(high == r, bc - gc, torch.where(high == g, rc - bc + 2.0, gc - rc + 4.0))
    h = sector / 6.0 + 1.0
    return h - h.trunc(), s, high


def _hsv_to_rgb(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    sector = (h * 6.0).floor()
    f = h * 6.0 - sector
    p = (v * (1.0 - s)).clamp(0.0, 1.0)
    q = (v * (1.0 - s * f)).clamp(0.0, 1.0)
    t = (v * (1.0 - s * (1.0 - f))).clamp(0.0, 1.0)
    index = sector.to(torch.int64).remainder(6).unsqueeze(0)
    channels = ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))
    return torch.stack([torch.stack(six).gather(0, index).squeeze(0) for six in channels], dim=-3)


def _sample(x: Tensor, grid: Tensor, mode: str, fill: list[float] | None) -> Tensor:
    """Sample at ``grid``; what lies outside is ``fill``, one value or one per channel, or black."""
    image = _batched(x)
    grid = grid.expand(image.shape[0], -1, -1, -1)
    if fill is None:
        return _unbatched(F.grid_sample(image, grid, mode, "zeros", align_corners=False), x)
    inside = torch.ones_like(image[:, :1])
    sampled = F.grid_sample(
        torch.cat([image, inside], dim=1), grid, mode, "zeros", align_corners=False
    )
    out, share = sampled[:, :-1], sampled[:, -1:]
    colour = torch.tensor(fill, dtype=x.dtype, device=x.device).reshape(1, -1, 1, 1)
    if mode == "nearest":
        return _unbatched(torch.where(share < 0.5, colour, out), x)
    return _unbatched(out * share + (1.0 - share) * colour, x)


def _pixel_centres(height: int, width: int, x0: float, y0: float, x: Tensor) -> Tensor:
    """Homogeneous coordinates of every output pixel, [1, H*W, 3]; the first pixel is at (x0,
    y0).
    """
    xs = torch.arange(width, dtype=torch.float32, device=x.device) + x0
    ys = torch.arange(height, dtype=torch.float32, device=x.device) + y0
    grid_y, grid_x = torch.meshgrid(ys, xs, indexing="ij")
    return torch.stack([grid_x, grid_y, torch.ones_like(grid_x)], dim=-1).reshape(1, -1, 3)


def _affine(
    x: Tensor, theta: Tensor, height: int, width: int, mode: str, fill: list[float] | None
) -> Tensor:
    in_height, in_width = x.shape[-2:]
    base = _pixel_centres(height, width, 0.5 - width * 0.5, 0.5 - height * 0.5, x)
    scale = torch.tensor([0.5 * in_width, 0.5 * in_height], device=x.device)
    grid = base @ (theta.to(x.device).reshape(1, 2, 3).transpose(1, 2) / scale)
    return _sample(x, grid.reshape(1, height, width, 2).to(x.dtype), mode, fill)


@op("image_affine")
def affine(x: Tensor, matrix: Matrix, mode: str, fill: list[float] | None) -> Tensor:
    """Map each output pixel through the 2x3 ``matrix`` (row by row, origin at the centre) to where
    it comes from.
    """
    return _affine(
        x, torch.tensor(matrix, dtype=torch.float32), x.shape[-2], x.shape[-1], mode, fill
    )


@op("image_rotate")
def rotate(
    x: Tensor,
    angle: float,
    mode: str,
    expand: bool,
    center: list[float] | None,
    fill: list[float] | None,
) -> Tensor:
    """Rotate counter-clockwise by ``angle`` degrees about ``center`` (x, y in pixels); ``expand``
    keeps the corners.
    """
    height, width = x.shape[-2:]
    turn = math.radians(-angle % 360)
    cos, sin = math.cos(turn), math.sin(turn)
    cx, cy = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = [cos, sin, cx - cos * cx - sin * cy, -sin, cos, cy + sin * cx - cos * cy]
    theta = torch.tensor(matrix, dtype=torch.float32).reshape(2, 3)
    if expand:
        w, h = 0.5 * width, 0.5 * height
        corners = torch.tensor([[-w, -h, 1.0], [-w, h, 1.0], [w, h, 1.0], [w, -h, 1.0]]) @ theta.T
        extent = corners.amax(0).ceil() - corners.amin(0).floor()
        width, height = int(extent[0]), int(extent[1])
    return _affine(x, theta, height, width, mode, fill)


@op("image_perspective")
def perspective(
    x: Tensor, coefficients: list[float], mode: str, fill: list[float] | None
) -> Tensor:
    """Map each output pixel (x, y) to ((ax + by + c) / (gx + hy + 1), (dx + ey + f) / (gx + hy +
    1)).
    """
    height, width = x.shape[-2:]
    coeffs = torch.tensor(coefficients, dtype=torch.float32, device=x.device)
    base = _pixel_centres(height, width, 0.5, 0.5, x)
    scale = torch.tensor([0.5 * width, 0.5 * height], device=x.device)
    upper = base @ (coeffs[:6].reshape(1, 2, 3).transpose(1, 2) / scale)
    lower = base @ torch.cat([coeffs[6:], coeffs.new_ones(1)]).reshape(1, 3, 1)
    return _sample(x, (upper / lower - 1.0).reshape(1, height, width, 2).to(x.dtype), mode, fill)
