"""Convolutions and their adjoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from argosy.fluid._activation import activate
from argosy.fluid.layers._call import layer_call, require_weight
from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Normal
from argosy.utils import convert_to_list

__all__ = ["conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]

_LAYOUTS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _channels(input: Any, num_dims: int, groups: int, data_format: str, call: str) -> int:
    if data_format not in _LAYOUTS[num_dims]:
        raise UsageError(
            f"fluid.layers.{call}: data_format must be one of {_LAYOUTS[num_dims]}, but received {data_format!r}"
        )
    shape = list(input.shape)
    if len(shape) != num_dims + 2:
        raise UsageError(
            f"fluid.layers.{call}: the input must have {num_dims + 2} dimensions, but its shape is {shape}"
        )
    channels: int = shape[-1 if data_format == _LAYOUTS[num_dims][1] else 1]
    if channels < 0 or channels % groups:
        raise UsageError(
            f"fluid.layers.{call}: the channels of the input of shape {shape} must be known and divisible by groups={groups}"
        )
    return channels


def _conv(num_dims: int, convolve: Callable[..., Any]) -> Callable[..., Any]:
    call = f"conv{num_dims}d"

    def function(
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
        data_format: str = _LAYOUTS[num_dims][0],
    ) -> Any:
        require_weight(param_attr, call)
        parts = groups or 1
        channels = _channels(input, num_dims, parts, data_format, call)
        window = convert_to_list(filter_size, num_dims, "filter_size")
        start = Normal(0.0, math.sqrt(2.0 / (math.prod(window) * channels)))
        # Without cuDNN a convolution of each channel by itself is an op of its own in 1.x, and names its parameters.
        is_depthwise = num_dims == 2 and groups == channels and num_filters % channels == 0 and not use_cudnn
        with layer_call(f"depthwise_{call}" if is_depthwise else call, name) as helper:
            weight = helper.create_parameter(
                param_attr, [num_filters, channels // parts, *window], input.dtype, default_initializer=start
            )
            bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
            out = convolve(input, weight, bias, stride, padding, dilation, parts, data_format)
            return activate(out, act)

    function.__name__ = function.__qualname__ = call
    function.__doc__ = (
        f"Convolve over {num_dims} axes with new filters [num_filters, channels / groups, *filter_size], then ``act``."
    )
    return function


def _conv_transpose(num_dims: int, convolve: Callable[..., Any]) -> Callable[..., Any]:
    call = f"conv{num_dims}d_transpose"

    def function(
        input: Any,
        num_filters: int,
        output_size: Any = None,
        filter_size: Any = None,
        padding: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        name: str | None = None,
        data_format: str = _LAYOUTS[num_dims][0],
    ) -> Any:
        require_weight(param_attr, call)
        parts = groups or 1
        channels = _channels(input, num_dims, parts, data_format, call)
        if output_size is not None:
            output_size = convert_to_list(output_size, num_dims, "output_size")
        if filter_size is None:
            extents = list(input.shape[1:-1] if data_format == _LAYOUTS[num_dims][1] else input.shape[2:])
            filter_size = _implied_window(call, extents, output_size, stride, padding, dilation)
        window = convert_to_list(filter_size, num_dims, "filter_size")
        is_depthwise = num_dims == 2 and groups == channels == num_filters and not use_cudnn
        with layer_call(f"depthwise_{call}" if is_depthwise else call, name) as helper:
            weight = helper.create_parameter(param_attr, [channels, num_filters // parts, *window], input.dtype)
            bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
            out = convolve(
                input,
                weight,
                bias,
                stride,
                padding,
                dilation=dilation,
                groups=parts,
                output_size=output_size,
                data_format=data_format,
            )
            return activate(out, act)

    function.__name__ = function.__qualname__ = call
    function.__doc__ = (
        f"Apply the adjoint of ``conv{num_dims}d`` with new filters [channels, num_filters / groups, *filter_size].\n\n"
        "    Without ``filter_size`` the one that gives ``output_size`` is taken.\n    "
    )
    return function


def _implied_window(call: str, extents: Any, output_size: Any, stride: Any, padding: Any, dilation: Any) -> list[int]:
    """The filter size with which ``extents`` become ``output_size``."""
    num_dims = len(extents)
    if output_size is None or any(n < 0 for n in extents) or isinstance(padding, str):
        raise UsageError(
            f"fluid.layers.{call}: output_size, numbers as padding and known dimensions of the input (here {extents}) are needed "
            "when filter_size is None"
        )
    settings = [convert_to_list(value, num_dims, "window") for value in (stride, padding, dilation)]
    return [
        (out - (extent - 1) * step + 2 * pad - 1) // gap + 1
        for out, extent, step, pad, gap in zip(output_size, extents, *settings, strict=True)
    ]


conv2d = _conv(2, F.conv2d)
conv3d = _conv(3, F.conv3d)
conv2d_transpose = _conv_transpose(2, F.conv2d_transpose)
conv3d_transpose = _conv_transpose(3, F.conv3d_transpose)
