"""Interpolation to another spatial size, channels second.

``scales`` are the factors a caller asked for; positions are then computed with them, otherwise with
the ratio of the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError
from argosy.ops.array.shape import ints
from argosy.ops.table import op
from argosy.ops.traits import Precision

_aten = torch.ops.aten


_TYPES = (
    "nearest_interp_v2",
    "linear_interp_v2",
    "bilinear_interp_v2",
    "trilinear_interp_v2",
    "bicubic_interp_v2",
)


def _words_of_1x(kind: str) -> str:
    return (
        f"{kind.removesuffix('_v2')}(X, interp_method, out_size//OutSize:sizes, scale:factor, "
        "align_corners, align_mode, -, data_layout:NCHW)"
    )


@op(
    "interpolate",
    precision=dict.fromkeys(_TYPES, Precision.EXTRA_BLACK),
    type_of=lambda given: f"{given['mode']}_interp_v2",
    types=(
        "nearest_interp_v2(X, interp_method, out_size/SizeTensor/OutSize:sizes, "
        "scale/Scale/Scale:list, align_corners, align_mode, -, data_layout:NCHW, -)",
        *_TYPES[1:],
        *(_words_of_1x(kind) for kind in _TYPES),
    ),
)
def interpolate(
    x: Tensor,
    mode: str,
    sizes: Any,
    scales: Any,
    align_corners: bool,
    align_mode: int,
    antialias: bool = False,
    channel_last: bool = False,
    recomputes: bool = False,
) -> Tensor:
    """Resample to ``sizes``, or by ``scales``; either may hold tensors. ``align_mode`` 1 puts
    sample positions at corners instead of centres (linear kinds only).

    With ``recomputes``, positions follow the ratio of the sizes though scales are given.
    """
    if channel_last:
        x = x.movedim(-1, 1)
    if sizes is None:
        sizes, scales = _scaled(x, scales, recomputes)
    sizes = ints(sizes)
    if "linear" in mode and align_mode == 1 and not align_corners and not antialias:
        out = _linear_from_corners(x, sizes, scales)
    else:
        out = _engine(
            x,
            mode,
            list(sizes),
            _scales(sizes, scales, antialias),
            align_corners,
            antialias,
        )
    return out.movedim(1, -1) if channel_last else out


def _scaled(x: Tensor, scales: Any, recomputes: bool) -> tuple[list[int], list[float] | None]:
    """The sizes that scales lead to, and the scales if positions follow them."""
    if isinstance(scales, Tensor):
        scales = scales.reshape(-1).tolist()
    factors = [float(s) for s in scales] * (1 if len(scales) > 1 else x.ndim - 2)
    if min(factors) <= 0:
        raise UsageError(f"interpolate: scales must be greater than zero, but are {factors}")
    if recomputes:
        return [int(n * s) for n, s in zip(x.shape[2:], factors, strict=True)], None
    # Paddle multiplies in float32, which decides where a product falls just short of a whole
    # number.
    products = (np.float32(n) * np.float32(s) for n, s in zip(x.shape[2:], factors, strict=True))
    return [int(n) for n in products], factors


def _nearest_from_corners(x: Tensor, sizes: list[int]) -> Tensor:
    for axis, size in enumerate(sizes, 2):
        ratio = (x.shape[axis] - 1) / (size - 1) if size > 1 else 0.0
        source = (torch.arange(size, device=x.device) * ratio + 0.5).floor().long()
        x = x.index_select(axis, source)
    return x


def _scales(
    sizes: Sequence[int], scales: Sequence[float] | None, antialias: bool
) -> list[float | None]:
    """The factors to compute positions with. A single sample is taken at the start of its axis, as
    with an endless factor, not in the middle.
    """
    given: Sequence[float | None] = scales or [None] * len(sizes)
    if antialias:
        return list(given)
    return [math.inf if n == 1 else s for n, s in zip(sizes, given, strict=True)]


def _engine(
    x: Tensor,
    mode: str,
    sizes: list[int],
    scales: Sequence[float | None],
    align_corners: bool,
    antialias: bool,
) -> Tensor:
    if mode == "nearest" and align_corners:
        return _nearest_from_corners(x, sizes)
    if mode == "nearest":
        kernel = _aten.upsample_nearest2d if len(sizes) == 2 else _aten.upsample_nearest3d
        return kernel(x, sizes, *scales)
    if antialias:
        kernel = (
            private.upsample_bilinear2d_aa if mode == "bilinear" else private.upsample_bicubic2d_aa
        )
    else:
        kernel = {
            "linear": _aten.upsample_linear1d,
            "bilinear": _aten.upsample_bilinear2d,
            "trilinear": _aten.upsample_trilinear3d,
            "bicubic": _aten.upsample_bicubic2d,
        }[mode]
    return kernel(x, sizes, align_corners, *scales)


def _linear_from_corners(x: Tensor, sizes: Sequence[int], scales: Sequence[float] | None) -> Tensor:
    """Linear interpolation at ``index * ratio``, axis by axis."""
    for i, size in enumerate(sizes):
        axis, old = i + 2, x.shape[i + 2]
        ratio = 1.0 / scales[i] if scales else old / size
        position = torch.arange(size, dtype=torch.float32, device=x.device) * ratio
        left = position.long().clamp_max(old - 1)
        right = (left + 1).clamp_max(old - 1)
        weight = (position - left).to(x.dtype).view([-1] + [1] * (x.ndim - 1 - axis))
        x = torch.lerp(
            x.index_select(axis, left),
            x.index_select(axis, right),
            weight.expand(x.shape[:axis] + (size,) + x.shape[axis + 1 :]),
        )
    return x
