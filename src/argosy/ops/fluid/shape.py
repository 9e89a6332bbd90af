"""Shapes, padding and pooling of 1.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.ops.array.shape import number
from argosy.ops.table import op
from argosy.ops.traits import Rows


@op(
    "fluid_flatten", fluid="flatten2(X, axis) -> Out, XShape", layer="flatten2:0,1", is_reshape=True
)
def flatten(x: Tensor, axis: int = 1) -> Tensor:
    """A matrix: the axes before ``axis`` are its rows."""
    if axis in (0, x.ndim):
        return x.reshape([1, -1] if axis == 0 else [-1, 1])
    columns = x.flatten(axis)
    return columns.flatten(0, axis - 1) if axis > 1 else columns


@op("fluid_shape", fluid="shape(Input)", layer="shape", rows=Rows.OTHER)
def shape(x: Tensor) -> Tensor:
    """The shape, as int32."""
    return torch.tensor(x.shape, dtype=torch.int32)


@op(
    "filled_like_batch",
    types=(
        "fill_constant_batch_size_like(Input, shape, value:number, dtype:dtype, input_dim_idx, "
        "output_dim_idx)",
    ),
    rows=Rows.OTHER,
)
def filled_like_batch(
    x: Tensor,
    shape: Sequence[int],
    value: float,
    dtype: torch.dtype,
    input_dim_idx: int,
    output_dim_idx: int,
) -> Tensor:
    """One value in a shape of which one extent is that of an axis of ``x``."""
    sizes = list(shape)
    sizes[output_dim_idx] = x.shape[input_dim_idx]
    return torch.full(sizes, value, dtype=dtype, device=x.device)


@op("fill_zeros_like", types=("fill_zeros_like(X)",))
def fill_zeros_like(x: Tensor) -> Tensor:
    return torch.zeros_like(x)


@op("fluid_pad", types=("pad(X, paddings, pad_value)",), layer="pad", rows=Rows.OTHER)
def pad(x: Tensor, paddings: Sequence[int], pad_value: Any = 0.0) -> Tensor:
    """``pad_value`` around ``x``: two numbers for each axis, how much before and after."""
    around = [n for axis in reversed(range(x.ndim)) for n in paddings[2 * axis : 2 * axis + 2]]
    return torch_f.pad(x, around, value=number(pad_value, 0.0))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}
PAD_MODES = tuple(_PAD_MODES)


@op("fluid_pad2d", fluid="pad2d(X, paddings, mode, pad_value, data_format:NCHW)", layer="pad2d")
def pad2d(
    x: Tensor, paddings: Sequence[int], mode: str, pad_value: float, channel_last: bool
) -> Tensor:
    """Pad images above, below, left and right, with a number ("constant"), their mirror ("reflect")
    or their edge ("edge").
    """
    top, bottom, left, right = paddings
    images = x.movedim(-1, 1) if channel_last else x
    options = {"value": pad_value} if mode == "constant" else {}
    out = torch_f.pad(images, [left, right, top, bottom], _PAD_MODES[mode], **options)
    return out.movedim(1, -1) if channel_last else out


@op(
    "global_pool",
    types=(
        "pool2d(X, pooling_type, data_format:NCHW, global_pooling=True, adaptive=False, "
        "ksize~[-1, -1], strides~[1, 1], paddings~[0, 0], padding_algorithm~'EXPLICIT', "
        "ceil_mode~False, exclusive~True)",
        "pool3d",
    ),
    layer="pool2d",
)
def global_pool(x: Tensor, kind: str, channel_last: bool) -> Tensor:
    """The maximum ("max") or mean ("avg") of whole images, whose size need not be known."""
    first = 1 if channel_last else 2
    axes = list(range(first, first + x.ndim - 2))
    return x.mean(axes, keepdim=True) if kind == "avg" else x.amax(axes, keepdim=True)


@op("l2_norm", types=("norm(X, axis, epsilon) -> Out, Norm",), layer="l2_normalize")
def l2_norm(x: Tensor, axis: int, epsilon: float) -> Tensor:
    """``x`` divided by the root of its sum of squares plus ``epsilon`` along ``axis``."""
    return x / torch.sqrt(x.square().sum(axis, keepdim=True) + epsilon)
