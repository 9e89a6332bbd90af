"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Normal
from argosy.static.nn._layer import activated, layer_call


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
    with layer_call("conv2d", name, input) as helper:
        if data_format not in ("NCHW", "NHWC"):
            raise UsageError(f"static.nn.conv2d: data_format must be 'NCHW' or 'NHWC', but received {data_format!r}")
        shape = input.shape
        if len(shape) != 4:
            raise UsageError(f"static.nn.conv2d: input must have 4 dimensions, but its shape is {list(shape)}")
        channels = shape[3 if data_format == "NHWC" else 1]
        parts = groups or 1
        if channels < 0 or channels % parts or num_filters % parts:
            raise UsageError(
                f"static.nn.conv2d: the channels ({channels}) and filters ({num_filters}) must be known and divisible by "
                f"groups ({parts})"
            )
        window = [filter_size] * 2 if isinstance(filter_size, int) else list(filter_size)
        scale = math.sqrt(2.0 / (math.prod(window) * channels))
        weight = helper.create_parameter(
            param_attr, [num_filters, channels // parts, *window], input.dtype, default_initializer=Normal(0.0, scale)
        )
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        out = F.conv2d(input, weight, bias, stride, padding, dilation, parts, data_format)
        return activated(out, act, "conv2d")
