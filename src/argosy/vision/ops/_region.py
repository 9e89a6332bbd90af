"""Regions of feature maps, pooled to one size: functions and layers."""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.ops.detection import regions as ops
from argosy.tensor.engine import apply


def _pair(call: str, output_size: Any) -> Any:
    if not isinstance(output_size, (int, tuple, list)):
        raise DtypeError(
            f"{call}: output_size must be a number or a pair of them, but received "
            f"{type(output_size).__name__}"
        )
    return (output_size, output_size) if isinstance(output_size, int) else output_size


def _check_count(call: str, boxes_num: Any) -> None:
    if boxes_num is None:
        raise BadArgument(f"{call}: boxes_num should not be None; expected the boxes of each image")


def roi_align(
    x: Any,
    boxes: Any,
    boxes_num: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = True,
    name: str | None = None,
) -> Any:
    """Pool each box of each image to ``output_size`` by means of points between pixels; so many
    along each side of a part as ``sampling_ratio`` says, or as it has pixels.

    Example:
        >>> import paddle
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]])
        >>> count = paddle.to_tensor([1], "int32")
        >>> paddle.vision.ops.roi_align(paddle.rand([1, 2, 8, 8]), boxes, count, 3).shape
        [1, 2, 3, 3]
    """
    height, width = _pair("roi_align", output_size)
    _check_count("roi_align", boxes_num)
    options = (height, width, spatial_scale, sampling_ratio, aligned)
    return apply(ops.roi_align, x, boxes, boxes_num, *options)


def roi_pool(
    x: Any,
    boxes: Any,
    boxes_num: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Any:
    """Pool each box of each image to ``output_size`` by the largest values."""
    height, width = _pair("roi_pool", output_size)
    _check_count("roi_pool", boxes_num)
    return apply(ops.roi_pool, x, boxes, boxes_num, height, width, spatial_scale)


def psroi_pool(
    x: Any,
    boxes: Any,
    boxes_num: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Any:
    """Pool each box of each image to ``output_size`` by means, each part out of channels of its
    own.
    """
    height, width = _pair("psroi_pool", output_size)
    if len(x.shape) != 4:
        raise BadArgument(f"psroi_pool: x must be [N, C, H, W], but its shape is {list(x.shape)}")
    if height * width == 0:
        raise UsageError("psroi_pool: output_size should not contain 0")
    _check_count("psroi_pool", boxes_num)
    channels = x.shape[1] // (height * width)
    return apply(ops.psroi_pool, x, boxes, boxes_num, height, width, channels, spatial_scale)


class RoIAlign(nn.Layer):
    """``roi_align`` as a layer."""

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any, aligned: bool = True) -> Any:
        size, scale = self._output_size, self._spatial_scale
        return roi_align(x, boxes, boxes_num, size, scale, aligned=aligned)


class RoIPool(nn.Layer):
    """``roi_pool`` as a layer."""

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any) -> Any:
        return roi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}, spatial_scale={self._spatial_scale}"


class PSRoIPool(nn.Layer):
    """``psroi_pool`` as a layer."""

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any) -> Any:
        return psroi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)
