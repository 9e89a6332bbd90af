"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Normal
from argosy.ops import row_convolution as row_ops
from argosy.static.nn._activation import activate
from argosy.static.nn._layer import layer_call, require_tensor, require_weight
from argosy.tensor._tensor import apply
from argosy.utils import convert_to_list

_FORMATS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


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
    """Convolve images with new filters [num_filters, channels / groups, height, width]. ``use_cudnn`` only changes names."""
    return _convolved(
        2, F.conv2d, input, num_filters, filter_size, stride, padding, dilation, groups, param_attr, bias_attr, use_cudnn,
        act, name, data_format,
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
    """Convolve volumes with new filters [num_filters, channels / groups, depth, height, width]. ``use_cudnn`` changes nothing."""
    return _convolved(
        3, F.conv3d, input, num_filters, filter_size, stride, padding, dilation, groups, param_attr, bias_attr, use_cudnn,
        act, name, data_format,
    )  # fmt: skip


def row_conv(input: Any, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Any:
    """Each row of ``input``, [batch, time, width], plus the next ones, weighted by a new [future_context_size + 1, width] parameter."""
    with layer_call("row_conv", None, input) as helper:
        if len(input.shape) != 3 or input.shape[2] < 0:
            raise UsageError(
                f"row_conv: input must be [batch, time, width] with a known width, but its shape is {list(input.shape)}"
            )
        weight = helper.create_parameter(param_attr, [future_context_size + 1, input.shape[2]], input.dtype)
        return activate(apply(row_ops.row_conv, input, weight), act)


def _convolved(
    rank: int,
    function: Callable[..., Any],
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    use_cudnn: bool,
    act: str | None,
    name: str | None,
    data_format: str,
) -> Any:
    call = f"conv{rank}d"
    require_weight(call, param_attr)
    channels = channels_of(call, input, rank, data_format)
    parts = divided(call, channels, num_filters, groups)
    window = convert_to_list(filter_size, rank, "filter_size")
    scale = math.sqrt(2.0 / (math.prod(window) * channels))
    is_depthwise = groups == channels and num_filters % channels == 0
    with layer_call(layer_kind(call, is_depthwise, use_cudnn), name) as helper:
        shape = [num_filters, channels // parts, *window]
        weight = helper.create_parameter(param_attr, shape, input.dtype, default_initializer=Normal(0.0, scale))
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        return activate(function(input, weight, bias, stride, padding, dilation, parts, data_format), act)


def layer_kind(call: str, is_depthwise: bool, use_cudnn: bool) -> str:
    """After what the parameters are named: without cuDNN, a convolution of each channel by itself is an operator of its own in Paddle."""
    return f"depthwise_{call}" if is_depthwise and not use_cudnn and call.startswith("conv2d") else call


def channels_of(call: str, input: Any, rank: int, data_format: str) -> int:
    """The number of channels, which sizes the filters; the input must fit the format."""
    require_tensor(call, input)
    first, last = _FORMATS[rank]
    if data_format not in (first, last):
        raise UsageError(f"{call}: data_format must be {first!r} or {last!r}, but received {data_format!r}")
    shape = list(input.shape)
    if len(shape) != rank + 2:
        raise UsageError(f"{call}: input must have {rank + 2} dimensions, but its shape is {shape}")
    channels: int = shape[-1 if data_format == last else 1]
    if channels < 0:
        raise UsageError(f"{call}: the channels of input must be known, but its shape is {shape}")
    return channels


def divided(call: str, channels: int, num_filters: int, groups: int | None) -> int:
    """The number of groups, into which channels and filters can be divided."""
    parts = groups or 1
    if num_filters < 1 or num_filters % parts or channels % parts:
        raise UsageError(
            f"{call}: the channels ({channels}) and filters ({num_filters}) must be divisible by groups ({parts})"
        )
    return parts
