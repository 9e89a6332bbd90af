"""Regions of feature maps, pooled to one size.

Regions of all images come in one list; ``boxes_num`` says how many belong to each image.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows

_WORDS = "(X, ROIs, RoisNum)"


def _per_image(call: str, x: Tensor, boxes: Tensor, boxes_num: Tensor) -> list[Tensor]:
    """The regions of each image."""
    counts = boxes_num.tolist()
    if len(counts) != len(x) or sum(counts) != len(boxes):
        raise UsageError(
            f"{call}: boxes_num is {counts} for {len(x)} images and {len(boxes)} boxes; expected "
            "one number for each image, and their sum to be that of the boxes"
        )
    return list(torch.split_with_sizes(boxes.detach().to(x.dtype), counts))


def _rounded(value: Tensor) -> Tensor:
    """To the nearest integer, halves away from zero."""
    return (value.abs() + 0.5).floor() * value.sign()


@op("roi_align", rows=Rows.OTHER, types=(f"roi_align{_WORDS}",))
def roi_align(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means of points in each part of a region, read between pixels."""
    if x.is_meta:
        return x.new_empty(len(boxes), x.shape[1], pooled_height, pooled_width)
    height, width = x.shape[2:]
    found = []
    for image, own in zip(x, _per_image("roi_align", x, boxes, boxes_num), strict=True):
        start, end = (own * spatial_scale - (0.5 if aligned else 0.0)).chunk(2, 1)
        size = end - start if aligned else (end - start).clamp(min=1.0)
        across = _reading(start[:, 0], size[:, 0], pooled_width, sampling_ratio, width)
        down = _reading(start[:, 1], size[:, 1], pooled_height, sampling_ratio, height)
        # what a point reads is the product of what it reads across and down
        found.append(torch.einsum("rph,chw,rqw->rcpq", down, image, across))
    return torch.cat(found)


def _reading(start: Tensor, size: Tensor, parts: int, ratio: int, length: int) -> Tensor:
    """[regions, parts, length]: how much of each pixel the mean of a part has, along one side."""
    bins = size / parts
    points = torch.full_like(size, ratio) if ratio > 0 else bins.ceil().clamp(min=0)
    most = int(points.max()) if len(points) else 0
    like: dict[str, Any] = {"dtype": size.dtype, "device": size.device}
    number = torch.arange(most, **like)
    inside = (number + 0.5) / points[:, None].clamp(min=1)
    part = torch.arange(parts, **like)
    at = start[:, None, None] + bins[:, None, None] * (part[:, None] + inside[:, None])
    is_read = (number < points[:, None])[:, None] & (at >= -1) & (at <= length)
    pixel = torch.arange(length, **like)
    share = (1 - (at.clamp(0, length - 1)[..., None] - pixel).abs()).clamp(min=0)
    total = (share * is_read[..., None]).sum(2)
    return total / points[:, None, None].clamp(min=1)


def _parts(at: Tensor, length: int) -> list[list[tuple[int, int]]]:
    """Of each region, first pixel and the one behind the last of every part, inside of the map;
    ``at`` is where parts begin, and where the last ends.
    """
    first = at[:, :-1].floor().clamp(0, length).long().tolist()
    behind = at[:, 1:].ceil().clamp(0, length).long().tolist()
    return [list(zip(*pair, strict=True)) for pair in zip(first, behind, strict=True)]


@op("roi_pool", rows=Rows.OTHER, types=(f"roi_pool{_WORDS}",))
def roi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
) -> Tensor:
    """The largest value of each part of a region, 0 where it has no pixel."""
    if x.is_meta:
        return x.new_empty(len(boxes), x.shape[1], pooled_height, pooled_width)
    found = [x.new_zeros(0, x.shape[1], pooled_height, pooled_width)]
    for image, own in zip(x, _per_image("roi_pool", x, boxes, boxes_num), strict=True):
        start, end = _rounded(own * spatial_scale).chunk(2, 1)
        size = (end - start + 1).clamp(min=1).float()
        columns = _whole(start[:, 0], size[:, 0], pooled_width)
        rows = _whole(start[:, 1], size[:, 1], pooled_height)
        regions = zip(_parts(columns, x.shape[3]), _parts(rows, x.shape[2]), strict=True)
        for across, down in regions:
            found.append(_largest(_largest(image, across, 2), down, 1)[None])
    return torch.cat(found)


def _whole(start: Tensor, size: Tensor, parts: int) -> Tensor:
    """Where parts begin that are counted from a whole pixel: that is added without rounding."""
    number = torch.arange(parts + 1, dtype=size.dtype, device=size.device)
    return (number * (size / parts)[:, None]).double() + start[:, None]


def _largest(values: Tensor, parts: list[tuple[int, int]], dim: int) -> Tensor:
    empty = torch.zeros_like(values.select(dim, 0))
    found = [
        values.narrow(dim, first, behind - first).max(dim).values if behind > first else empty
        for first, behind in parts
    ]
    return torch.stack(found, dim)


@op("psroi_pool", rows=Rows.OTHER, types=(f"psroi_pool{_WORDS}",))
def psroi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    pooled_height: int,
    pooled_width: int,
    output_channels: int,
    spatial_scale: float,
) -> Tensor:
    """The mean of each part of a region, out of channels of its own; 0 where it has no pixel."""
    sizes = (output_channels, pooled_height, pooled_width)
    if x.shape[1] != output_channels * pooled_height * pooled_width:
        raise UsageError(
            f"psroi_pool: x has {x.shape[1]} channels, expected a multiple of {pooled_height} x "
            f"{pooled_width}"
        )
    if x.is_meta:
        return x.new_empty(len(boxes), *sizes)
    found = [x.new_zeros(0, *sizes)]
    for image, own in zip(x, _per_image("psroi_pool", x, boxes, boxes_num), strict=True):
        start, end = _rounded(own).chunk(2, 1)
        start, end = start * spatial_scale, (end + 1) * spatial_scale
        bins = (end - start).clamp(min=0.1)
        across = _shares(start[:, 0], bins[:, 0] / pooled_width, pooled_width, x.shape[3])
        down = _shares(start[:, 1], bins[:, 1] / pooled_height, pooled_height, x.shape[2])
        apart = image.reshape(*sizes, *x.shape[2:])
        found.append(torch.einsum("rph,cpqhw,rqw->rcpq", down, apart, across))
    return torch.cat(found)


def _shares(start: Tensor, bins: Tensor, parts: int, length: int) -> Tensor:
    """[regions, parts, length]: how much of each pixel the mean of a part has."""
    number = torch.arange(parts + 1, dtype=bins.dtype, device=bins.device)
    at = number * bins[:, None] + start[:, None]
    first, behind = at[:, :-1].floor(), at[:, 1:].ceil()
    pixel = torch.arange(length, dtype=bins.dtype, device=bins.device)
    is_in = (pixel >= first[..., None]) & (pixel < behind[..., None])
    return is_in.to(bins.dtype) / is_in.sum(-1, keepdim=True).clamp(min=1)
