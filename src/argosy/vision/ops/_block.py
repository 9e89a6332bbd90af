"""A convolution with what usually follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import nn


class ConvNormActivation(nn.Sequential):
    """A convolution, a norm unless ``norm_layer`` is None and an activation unless
    ``activation_layer`` is None.

    Without ``padding`` a stride of 1 keeps the size of images; without ``bias`` the convolution
    has one where no norm follows.

    Example:
        >>> import paddle
        >>> block = paddle.vision.ops.ConvNormActivation(3, 8, stride=2)
        >>> block(paddle.rand([1, 3, 8, 8])).shape
        [1, 8, 4, 4]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Layer] | None = nn.BatchNorm2D,
        activation_layer: Callable[..., nn.Layer] | None = nn.ReLU,
        dilation: int = 1,
        bias: bool | None = None,
    ) -> None:
        conv = nn.Conv2D(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            (kernel_size - 1) // 2 * dilation if padding is None else padding,
            dilation=dilation,
            groups=groups,
            bias_attr=norm_layer is None if bias is None else bias,
        )
        norms = [] if norm_layer is None else [norm_layer(out_channels)]
        activations = [] if activation_layer is None else [activation_layer()]
        super().__init__(conv, *norms, *activations)
