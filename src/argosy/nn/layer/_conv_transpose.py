"""Transposed convolution layers."""

from __future__ import annotations

from typing import Any

from argosy.nn import functional as F
from argosy.nn.layer._conv_base import _ConvNd


class _ConvTranspose(_ConvNd):
    _functional: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            [in_channels, out_channels // groups],
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )
        self.output_padding = output_padding

    def forward(self, x: Any, output_size: Any = None) -> Any:
        own = self._parameters
        return self._functional(
            x,
            own["weight"],
            own.get("bias"),
            stride=self._stride,
            padding=self._padding,
            output_padding=self.output_padding if output_size is None else 0,
            dilation=self._dilation,
            groups=self._groups,
            output_size=output_size,
            data_format=self._data_format,
        )


class Conv1DTranspose(_ConvTranspose):
    """Apply the adjoint of a ``Conv1D``; the weight is [in_channels, out_channels / groups,
    width].
    """

    _dims = 1
    _functional = staticmethod(F.conv1d_transpose)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv2DTranspose(_ConvTranspose):
    """Apply the adjoint of a ``Conv2D``; the weight is [in_channels, out_channels / groups, h, w].

    Example:
        >>> import paddle
        >>> up = paddle.nn.Conv2DTranspose(4, 2, 3, stride=2, padding=1)
        >>> x = paddle.ones([1, 4, 8, 8])
        >>> up(x).shape, up(x, output_size=[16, 16]).shape
        ([1, 2, 15, 15], [1, 2, 16, 16])
    """

    _dims = 2
    _functional = staticmethod(F.conv2d_transpose)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv3DTranspose(_ConvTranspose):
    """Apply the adjoint of a ``Conv3D``; the weight is [in_channels, out_channels / groups, d, h,
    w].
    """

    _dims = 3
    _functional = staticmethod(F.conv3d_transpose)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            weight_attr,
            bias_attr,
            data_format,
        )
