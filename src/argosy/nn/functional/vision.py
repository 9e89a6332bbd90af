"""Sampling along grids and moving values between channels and space."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn.functional.window import is_channel_last
from argosy.ops.images import vision as ops
from argosy.tensor.engine import Tensor, apply

__all__ = ["affine_grid", "grid_sample", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle"]


def affine_grid(
    theta: Any, out_shape: Any, align_corners: bool = True, name: str | None = None
) -> Any:
    """Make the sampling grid of an affine map: ``theta`` [N, 2, 3] for images, [N, 3, 4] for
    volumes.
    """
    shape = out_shape.tolist() if isinstance(out_shape, Tensor) else [int(n) for n in out_shape]
    return apply(ops.affine_grid, theta, shape, align_corners)


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: str | None = None,
) -> Any:
    """Read ``x`` at the positions in ``grid``, where -1 and 1 are the edges; x comes before y in
    its last axis.
    """
    if mode not in ("bilinear", "nearest"):
        raise UsageError(
            f"grid_sample: mode should be 'bilinear' or 'nearest', but received {mode!r}"
        )
    if padding_mode not in ("zeros", "reflection", "border"):
        raise UsageError(
            "grid_sample: padding_mode should be zeros, reflection or border, but received "
            f"{padding_mode!r}"
        )
    return apply(ops.grid_sample, x, grid, mode, padding_mode, align_corners)


def _check_factor(call: str, name: str, factor: Any) -> None:
    if not isinstance(factor, int):
        raise DtypeError(f"{call}: {name} must be int type, but received {type(factor).__name__}")
    if factor <= 0:
        raise UsageError(f"{call}: {name} must be positive, but received {factor}")


def _check_rank(call: str, x: Any) -> None:
    if len(x.shape) != 4:
        raise UsageError(
            f"{call}: Input x should be 4D tensor, but received x with the shape of {list(x.shape)}"
        )


def pixel_shuffle(
    x: Any, upscale_factor: int, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """Spread groups of ``upscale_factor ** 2`` channels over space: [N, C*r*r, H, W] to [N, C, H*r,
    W*r].

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pixel_shuffle(paddle.ones([2, 9, 4, 4]), 3).shape
        [2, 1, 12, 12]
    """
    _check_rank("pixel_shuffle", x)
    _check_factor("pixel_shuffle", "upscale_factor", upscale_factor)
    last = is_channel_last(data_format, 2, "pixel_shuffle")
    return apply(ops.pixel_shuffle, x, upscale_factor, last)


def pixel_unshuffle(
    x: Any, downscale_factor: int, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """Undo ``pixel_shuffle``: [N, C, H*r, W*r] to [N, C*r*r, H, W]."""
    _check_rank("pixel_unshuffle", x)
    _check_factor("pixel_unshuffle", "downscale_factor", downscale_factor)
    last = is_channel_last(data_format, 2, "pixel_unshuffle")
    return apply(ops.pixel_unshuffle, x, downscale_factor, last)


def channel_shuffle(x: Any, groups: int, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Reorder channels so that each run of ``groups`` holds one channel of every group."""
    _check_rank("channel_shuffle", x)
    _check_factor("channel_shuffle", "groups", groups)
    last = is_channel_last(data_format, 2, "channel_shuffle")
    return apply(ops.channel_shuffle, x, groups, last)
