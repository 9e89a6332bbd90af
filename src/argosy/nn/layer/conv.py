"""Convolution layers; their transposes come from a file of their own."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn import functional as F
from argosy.nn.functional.conv import _nonnegative
from argosy.nn.functional.window import to_list, to_padding
from argosy.nn.initializer import Normal
from argosy.nn.layer._conv_base import _ConvNd
from argosy.nn.layer._conv_transpose import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from argosy.ops.nn import conv as ops
from argosy.ops.table import Op
from argosy.tensor.engine import apply

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(_ConvNd):
    _op: Op

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        if padding_mode not in _PADDING_MODES:
            raise UsageError(
                f"padding_mode must be one of {_PADDING_MODES}, but got "
                f"padding_mode={padding_mode!r}"
            )
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise DtypeError(
                "when padding_mode in ['reflect', 'replicate', 'circular'], type of padding must "
                "be int, "
                f"but got {padding!r}"
            )
        if in_channels % groups != 0:
            raise UsageError(
                f"in_channels must be divisible by groups, but received {in_channels} and {groups}."
            )
        window = math.prod(to_list(kernel_size, self._dims, "kernel_size"))
        super().__init__(
            in_channels,
            out_channels,
            [out_channels, in_channels // groups],
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            weight_attr,
            bias_attr if bias else False,
            data_format,
            Normal(0.0, math.sqrt(2.0 / (window * in_channels))),
            device,
            dtype,
        )
        self._padding_mode = padding_mode
        inner = padding if padding_mode == "zeros" else 0
        self._inner_padding = _nonnegative(
            to_padding(inner, self._dims, self._is_channel_last), padding
        )

    def forward(self, x: Any) -> Any:
        if self._padding_mode != "zeros":
            x = F.pad(
                x,
                [self._padding] * (2 * self._dims),
                self._padding_mode,
                data_format=self._data_format,
            )
        own = self._parameters
        return apply(
            self._op,
            x,
            own["weight"],
            own.get("bias"),
            self._stride,
            self._inner_padding,
            self._dilation,
            self._groups,
            self._is_channel_last,
        )


class Conv1D(_Conv):
    """Convolve [N, C, L] (or [N, L, C]) with learned windows.

    Example:
        >>> import paddle
        >>> paddle.nn.Conv1D(2, 5, 3, padding="SAME")(paddle.ones([4, 2, 9])).shape
        [4, 5, 9]
    """

    _dims = 1
    _op = ops.conv1d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
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
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv2D(_Conv):
    """Convolve images [N, C, H, W] (or [N, H, W, C]) with learned windows.

    The weight, [out_channels, in_channels / groups, h, w], starts normal with deviation sqrt(2 /
    (in_channels * h * w)).

    Example:
        >>> import paddle
        >>> paddle.nn.Conv2D(3, 8, 3, stride=2, padding=1)(paddle.ones([2, 3, 32, 32])).shape
        [2, 8, 16, 16]
    """

    _dims = 2
    _op = ops.conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
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
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv3D(_Conv):
    """Convolve volumes [N, C, D, H, W] (or [N, D, H, W, C]) with learned windows."""

    _dims = 3
    _op = ops.conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
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
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            weight_attr,
            bias_attr,
            data_format,
        )
