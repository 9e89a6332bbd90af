"""Boxes that are laid over an image before anything is seen in it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from argosy.ops.table import op
from argosy.ops.traits import Rows


@op(
    "prior_box",
    rows=Rows.OTHER,
    types=("prior_box(Input, Image, min_sizes, max_sizes, aspect_ratios, variances)"
           " -> Boxes, Variances",),
)  # fmt: skip
def prior_box(
    input: Tensor,
    image: Tensor,
    min_sizes: list[float],
    max_sizes: list[float],
    aspect_ratios: list[float],
    variances: list[float],
    flip: bool,
    clip: bool,
    step_w: float,
    step_h: float,
    offset: float,
    min_max_aspect_ratios_order: bool,
) -> tuple[Tensor, Tensor]:
    """Boxes around the place of each pixel of ``input`` in ``image``, as parts of its sides:
    [H, W, boxes, 4], and the variances for each.
    """
    rows, columns = input.shape[2:]
    image_height, image_width = image.shape[2:]
    if step_w == 0 or step_h == 0:
        step_w, step_h = image_width / columns, image_height / rows
    ratios = _ratios(aspect_ratios, flip)
    shapes = _shapes(min_sizes, max_sizes, ratios, min_max_aspect_ratios_order)
    like: dict[str, Any] = {"dtype": input.dtype, "device": input.device}
    x = (torch.arange(columns, **like) + offset) * step_w
    y = (torch.arange(rows, **like) + offset) * step_h
    center = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)[:, :, None]
    half = torch.tensor(shapes, **like) / 2
    sides = torch.tensor([image_width, image_height], **like)
    boxes = torch.cat([(center - half) / sides, (center + half) / sides], -1)
    spread = torch.tensor(variances, **like).expand(boxes.shape).contiguous()
    return (boxes.clamp(0, 1) if clip else boxes), spread


def _ratios(wanted: list[float], flip: bool) -> list[float]:
    """1, and each that is not there already, with its inverse if wanted."""
    found = [1.0]
    for ratio in wanted:
        if all(abs(ratio - known) >= 1e-6 for known in found):
            found += [ratio, 1.0 / ratio] if flip else [ratio]
    return found


def _shapes(
    min_sizes: list[float], max_sizes: list[float], ratios: list[float], is_square_first: bool
) -> list[tuple[float, float]]:
    """Width and height of the boxes of one place."""
    shapes = []
    for i, size in enumerate(min_sizes):
        between = [(math.sqrt(size * max_sizes[i]),) * 2] if max_sizes else []
        scaled = [(size * math.sqrt(r), size / math.sqrt(r)) for r in ratios]
        if is_square_first:
            shapes += [(size, size), *between]
            shapes += [s for s, r in zip(scaled, ratios, strict=True) if abs(r - 1) >= 1e-6]
        else:
            shapes += [*scaled, *between]
    return shapes
