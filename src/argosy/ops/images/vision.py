"""Ops on images: padding, sampling along grids, moving between channels and space, windows as
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.foundation.errors import UsageError
from argosy.ops import composition, table
from argosy.ops.array.manipulation import squeeze, unsqueeze
from argosy.ops.array.shape import ints, number
from argosy.ops.nn.window import Pairs, for_engine
from argosy.ops.table import op
from argosy.ops.traits import Record


@op(
    "pad_volume",
    types=("pad3d(X, paddings//Paddings, mode, value, data_format:NCDHW)",),
)
def pad_volume(
    x: Tensor, paddings: Any, mode: str, value: float = 0.0, channel_last: bool = False
) -> Tensor:
    """Pad [batch, channels, depth, height, width]; ``paddings`` begin with the last axis."""
    pairs = [[left, right] for left, right in zip(*[iter(ints(paddings))] * 2, strict=True)]
    inner = [n for pair in reversed(pairs) for n in pair]
    outer = [0, 0]
    padding = [*outer, *inner, *outer] if channel_last else [*outer, *outer, *inner]
    return pad.fn(x, padding, mode, value)


def _pad_parts(record: Record, x: Any, padding: Sequence[int], mode: str, value: float) -> Any:
    """Paddle pads volumes: axes are added before the first and taken away behind it."""
    if not all(isinstance(n, int) for n in padding):
        return NotImplemented
    if x.ndim not in (3, 4, 5) or any(padding[:4]) or not isinstance(value, (int, float)):
        if mode != "constant" or len(padding) != 2 * x.ndim:
            return NotImplemented
        return record(table.get("fluid_pad"), x, list(padding), value)
    added = list(range(2, 7 - x.ndim))
    volume = record(unsqueeze, x, added) if added else x
    pairs = [list(padding[i : i + 2]) for i in range(4, len(padding), 2)]
    paddings = [n for pair in reversed(pairs) for n in pair] + [0] * (2 * len(added))
    out = record(pad_volume, volume, paddings, mode, value, False)
    return record(squeeze, out, added) if added else out


@op("pad", types=("pad3d",), file_parts=_pad_parts)
def pad(x: Tensor, padding: Any, mode: str, value: Any) -> Tensor:
    """Pad with (before, after) for every axis, first axis first; negative amounts cut."""
    value = number(value, 0.0)
    padding = ints(padding)
    pairs = [(padding[2 * i], padding[2 * i + 1]) for i in range(x.ndim)]
    if mode == "constant":
        while len(pairs) > 1 and pairs[0] == (0, 0):
            pairs = pairs[1:]
        return torch_f.pad(x, for_engine(pairs), value=value)
    if _has_kernel(x, pairs):
        return torch_f.pad(x, for_engine(pairs[2:]), mode)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = x.index_select(
                axis, _source_positions(mode, x.shape[axis], before, after, x.device)
            )
    return x


def _has_kernel(x: Tensor, pairs: Pairs) -> bool:
    """Whether torch's own kernels serve: floats, spatial axes only, nothing cut and nothing
    repeated twice.
    """
    if not x.is_floating_point() or x.ndim not in (3, 4, 5) or any(pairs[0] + pairs[1]):
        return False
    return all(
        0 <= amount < size
        for pair, size in zip(pairs[2:], x.shape[2:], strict=True)
        for amount in pair
    )


def _source_positions(
    mode: str, size: int, before: int, after: int, device: torch.device
) -> Tensor:
    """Which element of an axis each position of the padded axis repeats."""
    position = torch.arange(-before, size + after, device=device)
    if mode == "replicate":
        return position.clamp(0, size - 1)
    if mode == "circular":
        return position % size
    if max(before, after) >= size:
        raise UsageError(
            f"pad: with mode='reflect' an axis of size {size} can be padded by at most "
            f"{size - 1} on each side, "
            f"but received {before} and {after}"
        )
    return (size - 1) - ((size - 1) - position.abs()).abs()


@op(
    "grid_sample",
    layer="grid_sample",
    types=("grid_sampler(X, Grid, mode, padding_mode, align_corners) -> Output",),
)
def grid_sample(
    x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    return torch_f.grid_sample(x, grid, mode, padding_mode, align_corners)


@op(
    "affine_grid", types=("affine_grid(Theta, output_shape//OutputShape, align_corners) -> Output",)
)
def affine_grid(theta: Tensor, out_shape: Sequence[int], align_corners: bool) -> Tensor:
    return torch_f.affine_grid(theta, list(out_shape), align_corners)


@op("pixel_shuffle", types=("pixel_shuffle(X, upscale_factor, data_format:NCHW)",))
def pixel_shuffle(x: Tensor, factor: int, channel_last: bool) -> Tensor:
    if channel_last:
        return torch.pixel_shuffle(x.movedim(-1, -3), factor).movedim(-3, -1)
    return torch.pixel_shuffle(x, factor)


@op("pixel_unshuffle", types=("pixel_unshuffle(X, downscale_factor, data_format:NCHW)",))
def pixel_unshuffle(x: Tensor, factor: int, channel_last: bool) -> Tensor:
    if channel_last:
        return torch.pixel_unshuffle(x.movedim(-1, -3), factor).movedim(-3, -1)
    return torch.pixel_unshuffle(x, factor)


@op(
    "channel_shuffle",
    types=(
        "channel_shuffle(X, groups, data_format:NCHW)",
        "shuffle_channel(X, group, -)",
    ),
)
def channel_shuffle(x: Tensor, groups: int, channel_last: bool) -> Tensor:
    """Deal the channels out: one of each of ``groups`` groups in turn."""
    axis = x.ndim - 1 if channel_last else 1
    return torch.unflatten(x, axis, (groups, -1)).transpose(axis, axis + 1).flatten(axis, axis + 1)


@op("temporal_shift", types=("temporal_shift(X, seg_num, shift_ratio, data_format:NCHW)",))
def temporal_shift(x: Tensor, seg_num: int, shift_ratio: float, channel_last: bool) -> Tensor:
    """In clips of ``seg_num`` frames take the first share of channels from the frame before, the
    second from the next.
    """
    if channel_last:
        x = x.movedim(-1, 1)
    clips = torch.unflatten(x, 0, (-1, seg_num))
    first, second = int(x.shape[1] * shift_ratio), int(x.shape[1] * 2 * shift_ratio)
    edge = torch.zeros_like(clips[:, :1])
    before = torch.cat([edge, clips[:, :-1]], 1)
    after = torch.cat([clips[:, 1:], edge], 1)
    out = torch.cat(
        [before[:, :, :first], after[:, :, first:second], clips[:, :, second:]], 2
    ).flatten(0, 1)
    return out.movedim(1, -1) if channel_last else out


@op(
    "unfold",
    types=(
        "unfold(X, kernel_sizes, strides, paddings, dilations) -> Y",
        "im2col",
    ),
)
def unfold(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Windows of images as columns, [N, C * window, windows]; padding is top, left, bottom,
    right.
    """
    top, left, bottom, right = padding
    if (top, left) == (bottom, right):
        return torch_f.unfold(x, tuple(kernel), tuple(dilation), (top, left), tuple(stride))
    return torch_f.unfold(
        torch_f.pad(x, [left, right, top, bottom]), tuple(kernel), tuple(dilation), 0, tuple(stride)
    )


@op(
    "fold",
    types=(
        "fold(X, output_sizes:list, kernel_sizes:list, strides:list, "
        "paddings:list, dilations:list) -> Y",
        "col2im",
    ),
)
def fold(
    x: Tensor,
    output_size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Add columns back into images, the adjoint of ``unfold``; padding is top, left, bottom,
    right.
    """
    top, left, bottom, right = padding
    height, width = output_size
    if (top, left) == (bottom, right):
        return torch_f.fold(
            x, (height, width), tuple(kernel), tuple(dilation), (top, left), tuple(stride)
        )
    padded = torch_f.fold(
        x,
        (height + top + bottom, width + left + right),
        tuple(kernel),
        tuple(dilation),
        0,
        tuple(stride),
    )
    return padded[:, :, top : top + height, left : left + width]


@op("bilinear", types=("bilinear_tensor_product(X, Y, Weight, Bias)",))
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x1 @ weight[k] @ x2`` for each output k; the bias is [1, outputs]."""
    return torch_f.bilinear(x1, x2, weight, None if bias is None else bias.flatten())


@op("cosine_similarity", file_parts=composition.cosine_similarity)
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int, epsilon: float) -> Tensor:
    """Cosine of the angle between vectors along ``axis``; a vector of size 1 there counts as
    repeated.
    """
    product = (x1 * x2).sum(axis)
    width = max(x1.shape[axis], x2.shape[axis])
    square1 = (x1 * x1).sum(axis) * (width // max(x1.shape[axis], 1))
    square2 = (x2 * x2).sum(axis) * (width // max(x2.shape[axis], 1))
    return product / torch.sqrt((square1 * square2).clamp_min(epsilon * epsilon))
