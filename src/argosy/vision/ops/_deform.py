"""Deformable convolution."""

from __future__ import annotations

import math
from typing import Any

from argosy import nn
from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn.initializer import Normal
from argosy.ops.nn import deform as ops
from argosy.tensor.engine import apply
from argosy.tensor.manipulation import reshape
from argosy.utils import convert_to_list


def deform_conv2d(
    x: Any,
    offset: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    mask: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve with windows that are bent by ``offset`` [N, 2 * deformable_groups * window, H, W];
    with ``mask`` what they read is weighed (the second version).
    """
    sizes = [
        convert_to_list(value, 2, word)
        for value, word in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    ]
    out = apply(ops.deformable_conv, x, offset, weight, mask, *sizes, deformable_groups, groups)
    return out if bias is None else out + reshape(bias, [1, -1, 1, 1])


class DeformConv2D(nn.Layer):
    """A convolution whose call takes offsets, and a mask for the second version.

    Example:
        >>> import paddle
        >>> layer = paddle.vision.ops.DeformConv2D(3, 4, 3)
        >>> layer(paddle.rand([1, 3, 8, 8]), paddle.zeros([1, 18, 6, 6])).shape
        [1, 4, 6, 6]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        deformable_groups: int = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if weight_attr is False:
            raise BadArgument("DeformConv2D: weight_attr should not be False")
        if in_channels % groups != 0:
            raise UsageError(
                f"DeformConv2D: in_channels must be divisible by groups, but received "
                f"{in_channels} and {groups}"
            )
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._deformable_groups = deformable_groups
        self._groups = groups
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._stride = convert_to_list(stride, 2, "stride")
        self._dilation = convert_to_list(dilation, 2, "dilation")
        self._kernel_size = convert_to_list(kernel_size, 2, "kernel_size")
        self._padding = convert_to_list(padding, 2, "padding")
        std = (2.0 / (math.prod(self._kernel_size) * in_channels)) ** 0.5
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *self._kernel_size],
            weight_attr,
            default_initializer=Normal(0.0, std),
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any, offset: Any, mask: Any = None) -> Any:
        return deform_conv2d(
            x,
            offset,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            self._dilation,
            self._deformable_groups,
            self._groups,
            mask,
        )
