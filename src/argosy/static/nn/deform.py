"""Deformable convolution as a function that creates its filters."""

from __future__ import annotations

import math
from typing import Any

from argosy.nn.initializer import Normal
from argosy.ops.nn import deform as ops
from argosy.static.nn.common import channels_of, divided
from argosy.static.nn.layer import layer_call, recorded, require_weight
from argosy.static.record.folding import biased
from argosy.tensor.engine import apply
from argosy.utils import convert_to_list


@recorded
def deformable_conv(
    input: Any,
    offset: Any,
    mask: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    deformable_groups: int | None = None,
    im2col_step: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    modulated: bool = True,
    name: str | None = None,
) -> Any:
    """Convolve with new filters, whose windows ``offset`` bends; what they read is weighed by
    ``mask``, unless ``modulated`` is False. ``im2col_step`` changes no result.
    """
    require_weight("deformable_conv", param_attr)
    channels = channels_of("deformable_conv", input, 2, "NCHW")
    parts = divided("deformable_conv", channels, num_filters, groups)
    window = convert_to_list(filter_size, 2, "filter_size")
    sides = [
        convert_to_list(value, 2, word)
        for value, word in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    ]
    scale = math.sqrt(2.0 / (math.prod(window) * channels))
    with layer_call("deformable_conv", name, input, offset) as helper:
        weight = helper.create_parameter(
            param_attr,
            [num_filters, channels // parts, *window],
            input.dtype,
            default_initializer=Normal(0.0, scale),
        )
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        weights = (weight, mask if modulated else None)
        bends = deformable_groups or 1
        out = apply(ops.deformable_conv, input, offset, *weights, *sides, bends, parts)
        return biased(out, bias, 1)


@recorded
def deform_conv2d(
    x: Any,
    offset: Any,
    mask: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deformable_groups: int = 1,
    im2col_step: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve with new filters, whose windows ``offset`` bends; what they read is weighed by
    ``mask``, unless that is None. ``im2col_step`` changes no result.
    """
    return deformable_conv(
        x, offset, mask, num_filters, filter_size, stride, padding, dilation, groups,
        deformable_groups, im2col_step, weight_attr, bias_attr, mask is not None, name,
    )  # fmt: skip
