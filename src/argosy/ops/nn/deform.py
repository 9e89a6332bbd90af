"""Convolution whose windows are bent by offsets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows


@op(
    "deformable_conv",
    rows=Rows.KEPT_IF_ALONE,
    types=(
        "deformable_conv(Input, Offset, Filter, Mask, strides, paddings, dilations, "
        "deformable_groups, groups) -> Output",
        "deformable_conv_v1",
    ),
    type_of=lambda given: "deformable_conv" + ("_v1" if given["mask"] is None else ""),
)
def deformable_conv(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    deformable_groups: int,
    groups: int,
) -> Tensor:
    """Convolve ``x``, read at every place of the window so far away as ``offset`` says, down before
    across; ``mask`` weighs what is read.
    """
    n, channels, height, width = x.shape
    kernel = weight.shape[2:]
    size = [
        (length + 2 * pad - spread * (window - 1) - 1) // step + 1
        for length, pad, spread, window, step in zip(
            (height, width), padding, dilation, kernel, stride, strict=True
        )
    ]
    if x.is_meta:  # sides of images that a program does not know are not those of their offsets
        return x.new_empty(n, weight.shape[0], *size)
    points = kernel[0] * kernel[1]
    if offset.shape[1] != 2 * deformable_groups * points or list(offset.shape[2:]) != size:
        raise UsageError(
            f"deform_conv2d: the shape of offset is {list(offset.shape)}, expected "
            f"{[n, 2 * deformable_groups * points, *size]}"
        )
    moved = offset.reshape(n, deformable_groups, points, 2, *size)
    at = [
        moved[:, :, :, k] + _steady(k, x, kernel, size, stride, padding, dilation) for k in (0, 1)
    ]
    groups_of_x = x.reshape(n, deformable_groups, channels // deformable_groups, height * width)
    read = _read(groups_of_x, at[0], at[1], height, width)
    if mask is not None:
        read = read * mask.reshape(n, deformable_groups, 1, points, *size)
    columns = read.reshape(n, groups, channels // groups * points, -1)
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = torch.einsum("ngkp,gok->ngop", columns, filters)
    return out.reshape(n, weight.shape[0], *size)


def _steady(
    k: int,
    x: Tensor,
    kernel: torch.Size,
    size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> Tensor:
    """Where windows read along side ``k`` without an offset: [points, rows, columns]."""
    like: dict[str, Any] = {"dtype": x.dtype, "device": x.device}
    window = torch.arange(kernel[k], **like) * dilation[k]
    inside = window.repeat_interleave(kernel[1]) if k == 0 else window.repeat(kernel[0])
    start = torch.arange(size[k], **like) * stride[k] - padding[k]
    start = start[:, None] if k == 0 else start[None]
    return inside[:, None, None] + start


def _read(x: Tensor, down: Tensor, across: Tensor, height: int, width: int) -> Tensor:
    """``x`` [N, groups, channels, H * W] between its pixels, 0 outside: [N, groups, channels, *of
    the places].
    """
    top, left = down.floor(), across.floor()
    below, right = down - top, across - left
    total = torch.zeros((), dtype=x.dtype, device=x.device)
    for row, row_share in ((top, 1 - below), (top + 1, below)):
        for column, share in ((left, 1 - right), (left + 1, right)):
            is_in = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            pixel = (row * width + column).where(is_in, 0.0).long()
            flat = pixel.flatten(2)[:, :, None].expand(-1, -1, x.shape[2], -1)
            values = x.gather(3, flat).reshape(*x.shape[:3], *pixel.shape[2:])
            total = total + values * (row_share * share * is_in)[:, :, None]
    return total
