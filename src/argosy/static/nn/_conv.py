"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Normal
from argosy.ops import row_convolution as row_ops
from argosy.static.nn._layer import activated, layer_call
from argosy.tensor._tensor import apply

FORMATS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def conv2d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Convolve images with new filters [num_filters, channels / groups, height, width]."""
    window = windowed(filter_size, 2)
    return _convolved(
        "conv2d", F.conv2d, input, num_filters, window, stride, padding, dilation, groups, param_attr, bias_attr, act,
        name, data_format,
    )  # fmt: skip


def conv3d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Any:
    """Convolve volumes with new filters [num_filters, channels / groups, depth, height, width]."""
    window = windowed(filter_size, 3)
    return _convolved(
        "conv3d", F.conv3d, input, num_filters, window, stride, padding, dilation, groups, param_attr, bias_attr, act,
        name, data_format,
    )  # fmt: skip


def row_conv(input: Any, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Any:
    """Each row of ``input``, [batch, time, width], plus the next ones, weighted by a new [future_context_size + 1, width] parameter."""
    with layer_call("row_conv", None, input) as helper:
        if len(input.shape) != 3 or input.shape[2] < 0:
            raise UsageError(
                f"static.nn.row_conv: input must be [batch, time, width] with a known width, but its shape is {list(input.shape)}"
            )
        weight = helper.create_parameter(param_attr, [future_context_size + 1, input.shape[2]], input.dtype)
        return activated(apply(row_ops.row_conv, input, weight), act, "row_conv")


def _convolved(
    call: str,
    function: Callable[..., Any],
    input: Any,
    num_filters: int,
    window: list[int],
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    act: str | None,
    name: str | None,
    data_format: str,
) -> Any:
    with layer_call(call, name, input) as helper:
        channels = channels_of(call, input, len(window), data_format, param_attr)
        parts = groups or 1
        if channels % parts or num_filters % parts:
            raise UsageError(
                f"static.nn.{call}: the channels ({channels}) and filters ({num_filters}) must be divisible by groups ({parts})"
            )
        scale = math.sqrt(2.0 / (math.prod(window) * channels))
        shape = [num_filters, channels // parts, *window]
        weight = helper.create_parameter(param_attr, shape, input.dtype, default_initializer=Normal(0.0, scale))
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        out = function(input, weight, bias, stride, padding, dilation, parts, data_format)
        return activated(out, act, call)


def windowed(size: Any, rank: int) -> list[int]:
    return [size] * rank if isinstance(size, int) else list(size)


def channels_of(call: str, input: Any, rank: int, data_format: str, param_attr: Any) -> int:
    """The number of channels, which sizes the filters; the input must fit the format."""
    if param_attr is False:
        raise BadArgument(f"static.nn.{call}: param_attr should not be False here.")
    first, last = FORMATS[rank]
    if data_format not in (first, last):
        raise UsageError(f"static.nn.{call}: data_format must be {first!r} or {last!r}, but received {data_format!r}")
    shape = list(input.shape)
    if len(shape) != rank + 2:
        raise UsageError(f"static.nn.{call}: input must have {rank + 2} dimensions, but its shape is {shape}")
    channels: int = shape[-1 if data_format == last else 1]
    if channels < 0:
        raise UsageError(f"static.nn.{call}: the channels of input must be known, but its shape is {shape}")
    return channels
